// How far each node is. Every answer about the latest block carries its height; a small question each second shows whether
// the node is still catching up, and ends the silence of a quiet gateway.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { heightHeader, toGrpcCode } from '@palaver/contract/internal';
import type { GrpcAnswer, Metadata } from './call.ts';
import type { Connection } from './connection.ts';

export interface NodeState {
  /** Null while the node has not reported one. */
  height: number | null;
  catchingUp: boolean;
}

export interface ChainState {
  /** The highest height of the last seconds. */
  height: number | null;
  /** Since the time of the latest block where nodes report it, otherwise since the height last changed. */
  blockAgeMs: number | null;
}

export interface NodeWatch {
  stateOf(connection: Connection): NodeState;
  /** Takes the height from an answer about the latest block. */
  note(connection: Connection, metadata: Metadata): void;
  /** Whether the node is near enough to the highest one. */
  isCurrent(connection: Connection): boolean;
  chain(): ChainState;
  /** Asks all nodes how far they are, each second from the first call on. */
  start(connections: Connection[]): void;
  stop(): void;
}

const syncingMethod = '/cosmos.base.tendermint.v1beta1.Service/GetSyncing';
const statusMethod = '/cosmos.base.node.v1beta1.Service/Status';
const pollMs = 1_000;
const timeoutMs = 3_000;
/** A height that no node reports any more is forgotten after this time: the chain may have begun again. */
const rememberMs = 10_000;

export function createNodeWatch(maxLagBlocks: number, now: () => number = Date.now): NodeWatch {
  const states = new WeakMap<Connection, NodeState>();
  let tip: number | null = null;
  let tipSeenAt = 0;
  let tipSince = 0;
  let blockTime: number | undefined;
  let timer: NodeJS.Timeout | undefined;

  const stateOf = (connection: Connection): NodeState => {
    const known = states.get(connection) ?? { height: null, catchingUp: false };
    states.set(connection, known);
    return known;
  };

  const note = (connection: Connection, metadata: Metadata) => {
    const height = readHeight(metadata);
    if (height === undefined) return;
    stateOf(connection).height = height;
    const isNew = tip === null || height > tip || now() - tipSeenAt > rememberMs;
    if (height === tip || isNew) tipSeenAt = now();
    if (height === tip || !isNew) return;
    tip = height;
    tipSince = now();
    blockTime = undefined;
  };

  const ask = async (connection: Connection, path: string): Promise<GrpcAnswer | undefined> => {
    if (!connection.healthy() || connection.lacks(path)) return undefined;
    const answer = await connection.probe({ path, body: new Uint8Array(), metadata: {}, timeoutMs });
    if (!answer.ok && answer.code === toGrpcCode('UNIMPLEMENTED')) connection.noteLack(path);
    return answer.ok ? answer : undefined;
  };

  const poll = async (connection: Connection) => {
    const syncing = await ask(connection, syncingMethod);
    if (syncing?.ok) {
      stateOf(connection).catchingUp = readVarint(syncing.message, 1) === 1;
      note(connection, syncing.metadata);
    }
    const status = await ask(connection, statusMethod);
    if (!status?.ok) return;
    note(connection, status.metadata);
    const seconds = readStatusTime(status.message);
    if (seconds !== undefined && stateOf(connection).height === tip) blockTime = seconds * 1000;
  };

  return {
    stateOf,
    note,
    isCurrent(connection) {
      const { height, catchingUp } = stateOf(connection);
      return !catchingUp && (height === null || tip === null || tip - height <= maxLagBlocks);
    },
    chain: () => ({
      height: tip,
      blockAgeMs: tip === null ? null : Math.max(0, now() - (blockTime ?? tipSince)),
    }),
    start(connections) {
      const pollAll = () => {
        for (const connection of connections) poll(connection).catch(() => undefined); // bytes that make no sense
      };
      timer = setInterval(pollAll, pollMs).unref();
    },
    stop: () => clearInterval(timer),
  };
}

export function readHeight(metadata: Metadata): number | undefined {
  const height = Number(metadata[heightHeader]);
  return Number.isSafeInteger(height) && height > 0 ? height : undefined;
}

function readVarint(bytes: Uint8Array, field: number): number | undefined {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [no, wireType] = reader.tag();
    if (no === field && wireType === WireType.Varint) return Number(reader.int64());
    reader.skip(wireType, no);
  }
  return undefined;
}

/** `StatusResponse.timestamp`, in seconds. */
function readStatusTime(bytes: Uint8Array): number | undefined {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [no, wireType] = reader.tag();
    if (no === 3 && wireType === WireType.LengthDelimited) return readVarint(reader.bytes(), 1);
    reader.skip(wireType, no);
  }
  return undefined;
}
