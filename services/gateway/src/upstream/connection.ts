// One node: an HTTP/2 session held open, opened again whenever it ends, and whether calls should be sent there.
import { type Authority, failure, type GrpcAnswer, type GrpcRequest, sendUnary } from './call.ts';
import { createEjection } from './ejection.ts';
import { Http2Session } from './http2/session.ts';
import { limitTime } from './limit-time.ts';
import { type Interceptor, type Send, toCall } from './send.ts';

export interface Connection {
  address: string;
  /** Connected, and not set aside for failing. */
  healthy(): boolean;
  /** Whether a session is being opened for the first time or again right now. */
  connecting(): boolean;
  /** Resolves when the attempt under way has ended, well or not. */
  settled(): Promise<void>;
  inFlight(): number;
  /** Has no time limit of its own. */
  send: Send;
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

export function openConnection({ address, ca, onConnect }: ConnectionOptions): Connection {
  const isTls = address.startsWith('tls://');
  const name = address.replace(/^tls:\/\//, '');
  const scheme = isTls ? 'https' : 'http';
  const { hostname, port } = new URL(`${scheme}://${name}`);
  const authority: Authority = { name, scheme, blocks: new Map() };
  let session: Http2Session | undefined;
  let newest: Http2Session | undefined;
  let attempt: Promise<void> = Promise.resolve();
  let isConnecting = false;
  let isClosed = false;
  let connects = 0;
  let backoffMs = firstBackoffMs;
  let retry: NodeJS.Timeout | undefined;
  let inFlight = 0;
  const ejection = createEjection();
  const lacking = new Set<string>();

  const open = () => {
    isConnecting = true;
    let connectedAt = Number.POSITIVE_INFINITY;
    const ended = Promise.withResolvers<void>();
    attempt = ended.promise;
    const opening = new Http2Session({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port || (isTls ? 443 : 80)),
      tls: isTls ? { ca } : undefined,
      // The peer's settings are the first proof that it speaks HTTP/2.
      onReady() {
        clearTimeout(timer);
        isConnecting = false;
        session = opening;
        connectedAt = Date.now();
        ejection.clear();
        connects += 1;
        lacking.clear();
        ended.resolve();
        onConnect?.(connects > 1);
      },
      // A node that sends GOAWAY finishes its calls; new calls go to a new session at once.
      onGoaway() {
        if (session === opening) session = undefined;
        reopen(opening, connectedAt);
      },
      onClose() {
        clearTimeout(timer);
        clearInterval(ping);
        if (session === opening) session = undefined;
        if (newest === opening) isConnecting = false;
        ended.resolve();
        reopen(opening, connectedAt);
      },
    });
    newest = opening;
    const timer = setTimeout(() => opening.destroy(), connectTimeoutMs);
    const ping = setInterval(() => pingOrDestroy(opening), pingEveryMs).unref();
    opening.unref();
  };

  const replaced = new WeakSet<Http2Session>();
  const reopen = (ended: Http2Session, connectedAt: number) => {
    if (isClosed || replaced.has(ended)) return;
    replaced.add(ended);
    if (Date.now() - connectedAt > steadyMs) {
      // Nodes end healthy sessions at a maximum age or when they are replaced: the next one is opened at once, and calls wait for it.
      backoffMs = firstBackoffMs;
      return open();
    }
    // A node that accepts and hangs up again and again is not asked faster than one that is unreachable.
    retry = setTimeout(open, backoffMs * (0.5 + Math.random() / 2));
    backoffMs = Math.min(maxBackoffMs, backoffMs * 2);
  };

  /** Sends on a session where it is open; only what was sent says something about the node. */
  const sendOn = (getSession: () => Http2Session | undefined, count: Interceptor): Send => {
    const counted = count((request, done) => {
      const own = getSession() as Http2Session;
      inFlight += 1;
      return sendUnary(own, authority, request, (answer) => {
        inFlight -= 1;
        done(answer);
      });
    });
    return (request, done) => {
      const own = getSession();
      if (own?.isOpen()) return counted(request, done);
      done(failure('unreachable'));
      return () => undefined;
    };
  };

  open();
  return {
    address,
    healthy: () => session !== undefined && !ejection.isEjected(),
    connecting: () => isConnecting,
    settled: () => attempt,
    inFlight: () => inFlight,
    send: sendOn(() => session, ejection.count),
    pin() {
      const own = session;
      return { call: toCall(limitTime(sendOn(() => own, ejection.count))) };
    },
    probe: toCall(limitTime(sendOn(() => session, ejection.countFailures))),
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

/** Finds a dead connection by a ping that is not answered. */
function pingOrDestroy(session: Http2Session): void {
  if (!session.isOpen()) return;
  const timer = setTimeout(() => session.destroy(), connectTimeoutMs).unref();
  session.ping(() => clearTimeout(timer));
}
