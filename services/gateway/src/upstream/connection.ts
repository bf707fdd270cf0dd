// One node: an HTTP/2 session held open, opened again whenever it ends, and a judgement of whether to send calls there.
import { type ClientHttp2Session, connect } from 'node:http2';
import { callUnary, failure, type GrpcAnswer, type GrpcRequest } from './call.ts';

export interface Connection {
  address: string;
  /** Connected, and not set aside for failing. */
  healthy(): boolean;
  /** Whether a session is being opened for the first time or again right now. */
  connecting(): boolean;
  /** Resolves when the attempt under way has ended, well or not. */
  settled(): Promise<void>;
  inFlight(): number;
  call(request: GrpcRequest): Promise<GrpcAnswer>;
  /** Calls on the session of now only: a node that is replaced is another one. */
  pin(): Caller;
  /** A question of the gateway's own: only a failure says something about the node. */
  probe(request: GrpcRequest): Promise<GrpcAnswer>;
  /** Whether the node is known not to have a method; forgotten when it is connected to again. */
  lacks(path: string): boolean;
  noteLack(path: string): void;
  close(): void;
}

export interface Caller {
  /** Never rejects; a failure is an answer. */
  call(request: GrpcRequest): Promise<GrpcAnswer>;
}

export interface ConnectionOptions {
  /** `host:port`, or `tls://host:port`. */
  address: string;
  ca?: string | undefined;
  /** Called at each connect; `again` from the second on, when the node may have been replaced. */
  onConnect?: (again: boolean) => void;
}

const connectTimeoutMs = 3_000;
const pingEveryMs = 10_000;
const firstBackoffMs = 50;
const maxBackoffMs = 2_000;
/** A session that lasted this long was a good one. */
const steadyMs = 1_000;
/** Calls that fail in a row before a node is set aside, and for how long at first. */
const failuresToEject = 5;
/** A wait that ended sooner, by the caller or by the caller's own deadline, says nothing about the node. */
const shortWaitMs = 100;
const ejectMs = 1_000;
const maxEjectMs = 30_000;
/** Large answers must not wait for window updates: the window holds a whole one. */
const streamWindow = 4 * 1024 * 1024;
const sessionWindow = 32 * 1024 * 1024;

export function openConnection({ address, ca, onConnect }: ConnectionOptions): Connection {
  const isTls = address.startsWith('tls://');
  const authority = address.replace(/^tls:\/\//, '');
  const origin = `${isTls ? 'https' : 'http'}://${authority}`;
  let session: ClientHttp2Session | undefined;
  let newest: ClientHttp2Session | undefined;
  let attempt: Promise<void> = Promise.resolve();
  let isConnecting = false;
  let isClosed = false;
  let connects = 0;
  let backoffMs = firstBackoffMs;
  let retry: NodeJS.Timeout | undefined;
  let inFlight = 0;
  let failures = 0;
  let ejections = 0;
  let ejectedUntil = 0;
  let answeredAt = 0;
  const lacking = new Set<string>();

  const open = () => {
    isConnecting = true;
    const opening = connect(origin, {
      ...(isTls && { ca, ALPNProtocols: ['h2'] }),
      settings: { enablePush: false, initialWindowSize: streamWindow },
      maxSessionMemory: 64,
      // Messages of a node may end in a space; the strict reading of RFC 9113 would drop them.
      strictFieldWhitespaceValidation: false,
    });
    let connectedAt = Number.POSITIVE_INFINITY;
    newest = opening;
    attempt = new Promise((resolve) => {
      const timer = setTimeout(() => opening.destroy(), connectTimeoutMs);
      // The peer's settings are the first proof that it speaks HTTP/2.
      opening.once('remoteSettings', () => {
        clearTimeout(timer);
        isConnecting = false;
        opening.setLocalWindowSize(sessionWindow);
        session = opening;
        connectedAt = Date.now();
        failures = 0;
        ejectedUntil = 0;
        connects += 1;
        lacking.clear();
        resolve();
        onConnect?.(connects > 1);
      });
      opening.once('close', () => {
        clearTimeout(timer);
        if (session === opening) session = undefined;
        if (newest === opening) isConnecting = false;
        resolve();
        reopen(opening, connectedAt);
      });
    });
    opening.on('error', () => undefined); // always followed by `close`
    // A node that says goodbye finishes what it has; new calls go to a new session at once.
    opening.on('goaway', () => {
      if (session === opening) session = undefined;
      reopen(opening, connectedAt);
    });
    opening.unref();
    const ping = setInterval(() => pingOrDestroy(opening), pingEveryMs).unref();
    opening.once('close', () => clearInterval(ping));
  };

  const replaced = new WeakSet<ClientHttp2Session>();
  const reopen = (ended: ClientHttp2Session, connectedAt: number) => {
    if (isClosed || replaced.has(ended)) return;
    replaced.add(ended);
    if (Date.now() - connectedAt > steadyMs) {
      // Nodes end good sessions when they grow old or are replaced: the next one is opened at once, and calls wait for it.
      backoffMs = firstBackoffMs;
      return open();
    }
    // A node that accepts and hangs up again and again is not asked faster than one that is away.
    retry = setTimeout(open, backoffMs * (0.5 + Math.random() / 2));
    backoffMs = Math.min(maxBackoffMs, backoffMs * 2);
  };

  /** A call that ended without an answer counts when the node was silent to all others as well while it waited. */
  const recordAnswer = (answer: GrpcAnswer, sentAt: number) => {
    const isSilent = !answer.ok && (answer.fault === 'deadline' || answer.fault === 'cancelled');
    if (isSilent) {
      if (answeredAt >= sentAt || performance.now() - sentAt < shortWaitMs) return;
    } else {
      answeredAt = performance.now();
    }
    const failed = isSilent || (!answer.ok && answer.fault === 'unreachable');
    failures = failed ? failures + 1 : 0;
    if (!failed) ejections = 0;
    if (failures < failuresToEject) return;
    failures = 0;
    ejectedUntil = Date.now() + Math.min(maxEjectMs, ejectMs * 2 ** ejections);
    ejections += 1;
  };

  const callOn = async (
    own: ClientHttp2Session | undefined,
    request: GrpcRequest,
    isProbe = false,
  ): Promise<GrpcAnswer> => {
    if (!own || own.closed || own.destroyed) return failure('unreachable');
    inFlight += 1;
    const sentAt = performance.now();
    const answer = await callUnary(own, authority, request);
    inFlight -= 1;
    // A node may answer small questions while its queries hang.
    if (!isProbe || (!answer.ok && answer.fault)) recordAnswer(answer, sentAt);
    return answer;
  };

  open();
  return {
    address,
    healthy: () => session !== undefined && Date.now() >= ejectedUntil,
    connecting: () => isConnecting,
    settled: () => attempt,
    inFlight: () => inFlight,
    call: (request) => callOn(session, request),
    pin() {
      const own = session;
      return { call: (request) => callOn(own, request) };
    },
    probe: (request) => callOn(session, request, true),
    lacks: (path) => lacking.has(path),
    noteLack: (path) => lacking.add(path),
    close() {
      isClosed = true;
      clearTimeout(retry);
      session?.destroy();
      newest?.destroy();
      session = undefined;
    },
  };
}

/** A connection that died without a word is found out by a ping that is not answered. */
function pingOrDestroy(session: ClientHttp2Session): void {
  if (session.closed || session.destroyed) return;
  const timer = setTimeout(() => session.destroy(), connectTimeoutMs).unref();
  try {
    session.ping(() => clearTimeout(timer));
  } catch {
    session.destroy();
  }
}
