import { type GrpcStatusName, heightHeader } from '@palaver/contract/internal';

const chainId = 'palaver-dev-1';
const genesisMs = Date.UTC(2020, 0, 1);

/** Heights follow from the clock alone, so that they never fall, not even over a restart. */
export function createChain({ clock, blockMs }: { clock: () => number; blockMs: number }) {
  return {
    id: chainId,
    latestHeight: () => Math.max(1, Math.floor((clock() - genesisMs) / blockMs)),
    timeOf: (height: number) => new Date(genesisMs + height * blockMs),
  };
}

export type Chain = ReturnType<typeof createChain>;

/** The height a request asks for; none and 0 are the latest. */
export function parseHeight(
  header: string | string[] | undefined,
  latest: number,
): { ok: true; height: number } | Refusal {
  const text = String(header ?? 0);
  if (!/^[+-]?\d{1,19}$/.test(text)) {
    return refuseArgument(`invalid height header "${heightHeader}": expected one decimal number, got "${text}"`);
  }
  const height = Number(text);
  if (height < 0) return refuseArgument('cannot query with height < 0; please provide a valid height');
  if (height > latest) {
    return refuseArgument('cannot query with height in the future; please provide a valid height: invalid height');
  }
  return { ok: true, height: height || latest };
}

export interface Refusal {
  ok: false;
  code: GrpcStatusName;
  message: string;
}

export function refuse(code: GrpcStatusName, message: string): Refusal {
  return { ok: false, code, message };
}

export function refuseArgument(message: string): Refusal {
  return refuse('INVALID_ARGUMENT', message);
}

export function refuseMissing(message: string): Refusal {
  return refuse('NOT_FOUND', message);
}

/** As a real node words it: such errors have no gRPC code, so they are UNKNOWN. */
export function refuseByModule(codespace: string, code: number, text: string): Refusal {
  return refuse('UNKNOWN', `codespace ${codespace} code ${code}: ${text}`);
}
