// One node: an HTTP/2 session held open, opened again whenever it ends, and whether calls should be sent there.
import { createBackoff } from './backoff.ts';
import { type Authority, type Done, failure, type GrpcAnswer, type GrpcRequest, sendUnary } from './call.ts';
import { limitTime } from './limit-time.ts';
import { type Send, toCall } from './send.ts';
import { Session, type SessionOptions } from './session.ts';

export interface Connection {
  address: string;
  /** Whether there is a session. */
  reachable(): boolean;
  /** Whether a session is being opened for the first time or again right now. */
  connecting(): boolean;
  /** Resolves when the attempt under way has ended, well or not. */
  settled(): Promise<void>;
  inFlight(): number;
  /** Has no time limit of its own. */
  send: Send;
  /** Opens a session for this call alone. */
  sendAlone: Send;
  /** Calls on the session of now only: a node that is replaced is another one. */
  pin(): Caller;
  /** A question of the gateway's own. */
  probe(request: GrpcRequest): Promise<GrpcAnswer>;
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
  /** Called once with the cause when the node cannot be reached, and not again before it was reached. */
  onDown?: (cause: Error) => void;
}

const firstBackoffMs = 50;
const maxBackoffMs = 2_000;
/** A session that lasted this long was a good one. */
const steadyMs = 1_000;
/** Connections opened at a time for calls that get one of their own. */
const maxAlone = 4;

/** Where a connection stands. A session that the node is leaving finishes its calls beside the next one. */
type State =
  | { is: 'opening'; session: Session; ended: PromiseWithResolvers<void> }
  | { is: 'ready'; session: Session; since: number }
  | { is: 'waiting'; timer: NodeJS.Timeout }
  | { is: 'closed' };

export function openConnection({ address, ca, onConnect, onDown }: ConnectionOptions): Connection {
  const name = address.replace(/^tls:\/\//, '');
  const authority: Authority = { name, scheme: address.startsWith('tls://') ? 'https' : 'http' };
  const where = { origin: `${authority.scheme}://${name}`, ca };
  const backoff = createBackoff(firstBackoffMs, maxBackoffMs);
  let connects = 0;
  let isDown = false;
  let inFlight = 0;
  let state: State;

  const open = (): State => {
    const ended = Promise.withResolvers<void>();
    const session = new Session({
      ...where,
      onReady() {
        if (state.is !== 'opening' || state.session !== session) return;
        state = { is: 'ready', session, since: Date.now() };
        connects += 1;
        isDown = false;
        ended.resolve();
        onConnect?.(connects > 1);
      },
      // A node that sends GOAWAY finishes its calls; new calls go to a new session at once.
      onGoaway: () => leave(session),
      onClose(cause) {
        const isOpening = state.is === 'opening' && state.session === session;
        leave(session);
        ended.resolve();
        if (!isOpening || isDown) return;
        isDown = true;
        onDown?.(cause);
      },
    });
    return { is: 'opening', session, ended };
  };

  /** The session takes no more calls. */
  const leave = (session: Session) => {
    if (!('session' in state) || state.session !== session) return;
    if (state.is === 'ready' && Date.now() - state.since > steadyMs) {
      // Nodes end healthy sessions at a maximum age or when they are replaced: the next one is opened at once, and calls wait for it.
      backoff.reset();
      state = open();
      return;
    }
    // A node that accepts and hangs up again and again is not asked faster than one that is unreachable.
    const reopen = () => {
      state = open();
    };
    state = { is: 'waiting', timer: setTimeout(reopen, backoff.next()) };
  };

  const current = () => (state.is === 'ready' ? state.session : undefined);

  const sendOn =
    (getSession: () => Session | undefined): Send =>
    (request, done) => {
      const session = getSession();
      if (!session?.isOpen()) {
        done(failure('unreachable'));
        return () => undefined;
      }
      inFlight += 1;
      return sendUnary(session, authority, request, (answer) => {
        inFlight -= 1;
        done(answer);
      });
    };

  state = open();
  return {
    address,
    reachable: () => state.is === 'ready',
    connecting: () => state.is === 'opening',
    settled: () => (state.is === 'opening' ? state.ended.promise : Promise.resolve()),
    inFlight: () => inFlight,
    send: sendOn(current),
    sendAlone: createSendAlone((handlers) => new Session({ ...where, ...handlers }), authority),
    pin() {
      const own = current();
      return { call: toCall(limitTime(sendOn(() => own))) };
    },
    probe: toCall(limitTime(sendOn(current))),
    close() {
      const old = state;
      state = { is: 'closed' };
      if (old.is === 'waiting') clearTimeout(old.timer);
      if ('session' in old) old.session.destroy();
    },
  };
}

type OpenSession = (handlers: Pick<SessionOptions, 'onReady' | 'onGoaway' | 'onClose'>) => Session;

/** Calls that have a session each: one whose answer breaks the protocol ends no other call. */
function createSendAlone(openSession: OpenSession, authority: Authority): Send {
  const waiting: (() => void)[] = [];
  let open = 0;
  const begin = () => {
    if (open < maxAlone) waiting.shift()?.();
  };
  return (request, done) => {
    let cancel = () => finish(failure('cancelled'));
    let session: Session | undefined;
    let isOver = false;
    const finish: Done = (answer) => {
      if (isOver) return;
      isOver = true;
      done(answer);
      session?.destroy();
    };
    waiting.push(() => {
      if (isOver) return begin();
      open += 1;
      session = openSession({
        onReady: () => (cancel = sendUnary(session as Session, authority, request, finish)),
        onGoaway: () => undefined,
        onClose() {
          open -= 1;
          finish(failure('unreachable'));
          begin();
        },
      });
    });
    begin();
    return () => cancel();
  };
}
