import { setTimeout as sleep } from 'node:timers/promises';
import { heightHeader, toGrpcCode } from '@palaver/contract/internal';
import { readFields, type WireField } from '../printer/wire-reader.ts';
import type { GrpcAnswer, Metadata } from './call.ts';
import type { Connection } from './connection.ts';

// A poll each second shows nodes that are catching up and keeps heights current between answers, which carry them too.

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

const syncingMethod = '/cosmos.base.tendermint.v1beta1.Service/GetSyncing';
const statusMethod = '/cosmos.base.node.v1beta1.Service/Status';
const statusTime = 3; // the field `timestamp` of its answer
const pollMs = 1_000;
const timeoutMs = 3_000;
/** Nodes without the methods are asked for a sign of life only. */
const lifePollMs = 10_000;
/** How long a height that nobody reports any more is remembered: nodes move on, and the chain may have begun again. */
const rememberMs = 5_000;

export function createNodeWatch(maxLagBlocks: number, now: () => number = Date.now) {
  const states = new WeakMap<Connection, Known>();
  const waiting = new Set<{ height: number; done: () => void }>();
  let tip: number | null = null;
  let tipSeenAt = 0;
  let tipSince = 0;
  let blockTime: number | undefined;
  let timer: NodeJS.Timeout | undefined;

  const knownOf = (connection: Connection): Known => {
    const known = states.get(connection) ?? toUnknown();
    states.set(connection, known);
    if (known.height !== null && now() - known.heightAt > rememberMs) known.height = null;
    return known;
  };

  const currentTip = () => (now() - tipSeenAt > rememberMs ? null : tip);

  const note = (connection: Connection, metadata: Metadata) => {
    const height = readHeight(metadata);
    if (height === undefined) return;
    Object.assign(knownOf(connection), { height, heightAt: now() });
    const highest = currentTip();
    if (height === highest) tipSeenAt = now();
    if (highest !== null && height <= highest) return;
    tipSeenAt = now();
    if (height === tip) return;
    tip = height;
    tipSince = now();
    blockTime = undefined;
    for (const entry of waiting) if (height >= entry.height) entry.done();
  };

  const ask = (connection: Connection, path: string): Promise<GrpcAnswer> =>
    connection.probe({ path, body: new Uint8Array(), metadata: {}, timeoutMs });

  const poll = async (connection: Connection) => {
    const syncing = await ask(connection, syncingMethod);
    const known = knownOf(connection);
    known.isFailing = isOutage(syncing);
    if (isUnimplemented(syncing)) known.nextPollAt = now() + lifePollMs;
    if (syncing.ok) {
      known.catchingUp = findField(syncing.message, 1)?.number === 1;
      note(connection, syncing.metadata);
    }
    if (known.lacksStatus) return;
    const status = await ask(connection, statusMethod);
    known.lacksStatus = isUnimplemented(status);
    if (!status.ok) return;
    known.isFailing = false;
    known.nextPollAt = 0;
    note(connection, status.metadata);
    const timestamp = findField(status.message, statusTime);
    const seconds = timestamp && findField(timestamp.bytes, 1)?.number;
    if (seconds !== undefined && known.height === tip) blockTime = seconds * 1000;
  };

  const pollIfDue = async (connection: Connection) => {
    const known = knownOf(connection);
    if (!connection.reachable() || known.isPolling || now() < known.nextPollAt) return;
    known.isPolling = true;
    try {
      await poll(connection);
    } catch {
      // bytes that make no sense
    } finally {
      known.isPolling = false;
    }
  };

  return {
    stateOf(connection: Connection): NodeState {
      const { height, catchingUp } = knownOf(connection);
      return { height, catchingUp };
    },
    note,
    /** What was known of a node before it was connected to again does not count. */
    forget(connection: Connection): void {
      states.delete(connection);
      if (timer) void pollIfDue(connection);
    },
    isCurrent(connection: Connection): boolean {
      const { height, catchingUp, isFailing } = knownOf(connection);
      const highest = currentTip();
      return !catchingUp && !isFailing && (height === null || highest === null || highest - height <= maxLagBlocks);
    },
    chain(): ChainState {
      const height = currentTip();
      return { height, blockAgeMs: height === null ? null : Math.max(0, now() - (blockTime ?? tipSince)) };
    },
    /** Calls back when a node reports this height, or after `maxMs`. Returns a function that ends the wait. */
    onHeight(height: number, maxMs: number, done: () => void): () => void {
      const end = () => {
        clearTimeout(limit);
        waiting.delete(entry);
      };
      const finish = () => {
        end();
        done();
      };
      const entry = { height, done: finish };
      const limit = setTimeout(finish, maxMs);
      waiting.add(entry);
      return end;
    },
    start(connections: Connection[]): void {
      timer = setInterval(() => {
        for (const connection of connections) void pollIfDue(connection);
      }, pollMs).unref();
    },
    stop: () => clearInterval(timer),
  };
}

export type NodeWatch = ReturnType<typeof createNodeWatch>;

function toUnknown() {
  return {
    height: null as number | null,
    heightAt: 0,
    catchingUp: false,
    isFailing: false,
    isPolling: false,
    nextPollAt: 0,
    lacksStatus: false,
  };
}

type Known = ReturnType<typeof toUnknown>;

/** Codes of a node that is there but does not allow this call, also where a proxy says so by an HTTP status. */
const refusals: number[] = [
  toGrpcCode('PERMISSION_DENIED'),
  toGrpcCode('UNAUTHENTICATED'),
  toGrpcCode('UNIMPLEMENTED'),
];

/** Whether the node cannot answer at the moment. An error of the method itself says nothing about the others. */
function isOutage(answer: GrpcAnswer): boolean {
  if (answer.ok) return false;
  if (answer.fault !== undefined) return answer.fault !== 'not gRPC' || !refusals.includes(answer.code);
  return answer.code === toGrpcCode('UNAVAILABLE') || answer.code === toGrpcCode('DEADLINE_EXCEEDED');
}

function isUnimplemented(answer: GrpcAnswer): boolean {
  return !answer.ok && answer.fault === undefined && answer.code === toGrpcCode('UNIMPLEMENTED');
}

export function readHeight(metadata: Metadata): number | undefined {
  const height = Number(metadata[heightHeader]);
  return Number.isSafeInteger(height) && height > 0 ? height : undefined;
}

function findField(message: Uint8Array, wanted: number): WireField | undefined {
  return readFields(message).find(({ no }) => no === wanted);
}

// Which node a call goes to: the least busy of those near the highest height.

/** How long a call waits for a connection that is being opened, or for a node to reach a height. */
export const maxWaitMs = 2_000;

export function createChooseNode(connections: Connection[], watch: NodeWatch) {
  let nextIndex = 0;
  const now = (tried: Connection[], need: number): Connection | undefined => {
    nextIndex += 1;
    let best: Connection | undefined;
    let bestRank = 0;
    for (let index = 0; index < connections.length; index += 1) {
      const candidate = connections[(nextIndex + index) % connections.length];
      if (!candidate?.reachable() || tried.includes(candidate)) continue;
      const height = watch.stateOf(candidate).height ?? need;
      const rank = !watch.isCurrent(candidate) ? 2 : height < need ? 1 : 0;
      if (!best || rank < bestRank || (rank === bestRank && candidate.inFlight() < best.inFlight())) {
        best = candidate;
        bestRank = rank;
      }
    }
    return best;
  };
  return {
    /** The least busy of the best kind of node: at the needed height, below it, lagging or catching up. */
    now,
    /** Waits for a connection that is being opened or about to be. Without one, nodes that were tried are asked again. */
    async orWait(tried: Connection[], need: number, maxMs: number): Promise<Connection | undefined> {
      const opening = connections.filter((connection) => connection.connecting());
      if (opening.length > 0)
        await Promise.race([
          ...opening.map((connection) => connection.settled()),
          sleep(Math.max(0, Math.min(maxWaitMs, maxMs))),
        ]);
      return now(tried, need) ?? now([], need) ?? connections.find((connection) => !tried.includes(connection));
    },
  };
}

export type ChooseNode = ReturnType<typeof createChooseNode>;
