// The height of the latest block, for `/health`. Every answer of a node tells it; when nobody has asked for a while, the
// service that all chains of this kind have is asked the smallest question.
import { heightHeader } from './metadata.ts';
import type { Metadata } from './upstream/call.ts';
import type { Upstream } from './upstream.ts';

export interface LatestHeight {
  /** Takes the height from the metadata of an answer about the latest block. */
  note(metadata: Metadata): void;
  /** Null while no node has told one. */
  read(): Promise<number | null>;
}

export interface LatestHeightOptions {
  upstream: Upstream;
  /** Whether a node is there that has a method of this gRPC path. */
  canAsk(path: string): boolean;
  now?: () => number;
}

const question = '/cosmos.base.tendermint.v1beta1.Service/GetSyncing';
const maxAgeMs = 1_000;
const timeoutMs = 500;

export function createLatestHeight({ upstream, canAsk, now = Date.now }: LatestHeightOptions): LatestHeight {
  let height: number | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  const note = (metadata: Metadata) => {
    const told = Number(metadata[heightHeader]);
    if (!Number.isSafeInteger(told) || told <= 0) return;
    height = told;
    askedAt = now();
  };
  return {
    note,
    async read() {
      if (now() - askedAt >= maxAgeMs && canAsk(question)) {
        askedAt = now();
        note((await upstream.call({ path: question, body: new Uint8Array(), metadata: {}, timeoutMs })).metadata);
      }
      return height;
    },
  };
}
