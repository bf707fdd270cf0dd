import { createLimiter } from '@palaver/service-kit/internal';
import {
  type Authority,
  type Cancel,
  type Done,
  failure,
  type GrpcAnswer,
  type GrpcRequest,
  limitTime,
  type Send,
  sendUnary,
  toCall,
} from './call.ts';
import { Session, type SessionOptions } from './session.ts';

// One node: an HTTP/2 session held open, opened again whenever it ends, and whether calls should be sent there.

type SessionHandlers = Pick<SessionOptions, 'onReady' | 'onLeave' | 'onEnd'>;

export interface Caller {
  /** Never rejects; a failure is an answer. */
  call(request: GrpcRequest): Promise<GrpcAnswer>;
}

/** `since` in milliseconds. */
export interface NodeFault {
  since: number;
  cause: string;
}

interface ConnectionOptions {
  address: string;
  ca?: string | undefined;
  onConnect?: () => void;
  onUp?: (again: boolean) => void;
  onDown?: (cause: Error, wasReached: boolean) => void;
}

const firstBackoffMs = 50;
/** Less than the time that calls wait for a connection. */
const maxBackoffMs = 1_500;
const steadyMs = 1_000;
/** How many connections are open at a time for calls that get one of their own. */
const maxAlone = 64;
const maxAloneWaitMs = 1_000;

/** `ended` resolves when the attempt to open a session has ended; for a ready session, the next attempt. */
type State =
  | { is: 'opening'; session: Session; ended: PromiseWithResolvers<void> }
  | { is: 'ready'; session: Session; since: number; ended: PromiseWithResolvers<void> }
  | { is: 'waiting'; timer: NodeJS.Timeout; ended: PromiseWithResolvers<void>; wasReached: boolean }
  | { is: 'closed' };

export function openConnection({ address, ca, onConnect, onUp, onDown }: ConnectionOptions) {
  const name = address.replace(/^tls:\/\//, '');
  const authority: Authority = { name, scheme: address.startsWith('tls://') ? 'https' : 'http' };
  const where = { origin: `${authority.scheme}://${name}`, ca };
  const backoff = createBackoff(firstBackoffMs, maxBackoffMs);
  let ups = 0;
  let told: 'up' | 'lost' | 'down' = 'up';
  let steady: NodeJS.Timeout | undefined;
  let inFlight = 0;
  let fault: NodeFault | null = null;
  let state: State;

  const tellUp = () => {
    told = 'up';
    ups += 1;
    onUp?.(ups > 1);
  };

  const open = (ended = Promise.withResolvers<void>()): State => {
    const session = new Session({
      ...where,
      onReady() {
        if (state.is !== 'opening' || state.session !== session) return;
        state = { is: 'ready', session, since: Date.now(), ended: Promise.withResolvers() };
        fault = null;
        ended.resolve();
        onConnect?.();
        if (told === 'up') tellUp();
        else steady = setTimeout(tellUp, steadyMs);
      },
      // A node that sends GOAWAY finishes its calls beside the new session, which takes the new ones.
      onLeave: (cause, isOrderly) => leave(session, cause, isOrderly),
      onEnd(cause) {
        leave(session, cause, false);
        ended.resolve();
      },
    });
    return { is: 'opening', session, ended };
  };

  const leave = (session: Session, cause: Error, isOrderly: boolean) => {
    if (!('session' in state) || state.session !== session) return;
    clearTimeout(steady);
    fault = { since: fault?.since ?? Date.now(), cause: cause.message };
    const wasReached = state.is === 'ready';
    const isSteady = state.is === 'ready' && Date.now() - state.since > steadyMs;
    const ended = state.is === 'ready' ? state.ended : Promise.withResolvers<void>();
    if (wasReached ? told === 'up' && !(isSteady && isOrderly) : told !== 'down') {
      told = wasReached ? 'lost' : 'down';
      onDown?.(cause, wasReached);
    }
    if (isSteady) {
      // Nodes end healthy sessions at a maximum age or when they are replaced: calls wait for the next one, opened at once.
      backoff.reset();
      state = open(ended);
      return;
    }
    // A node that keeps accepting and hanging up is not asked more often than one that is unreachable.
    const timer = setTimeout(() => (state = open(ended)), backoff.next());
    state = { is: 'waiting', timer, ended, wasReached };
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
    reachable: () => state.is === 'ready' && state.session.isOpen(),
    /** Null while it is connected. */
    fault: () => fault,
    /** Whether a session is being opened, or soon will be after one that ended early; a node never reached is not waited for. */
    connecting: () =>
      state.is === 'opening' ||
      (state.is === 'waiting' && state.wasReached) ||
      (state.is === 'ready' && !state.session.isOpen()),
    /** Resolves when that attempt has ended, well or not. */
    settled: () => ('ended' in state ? state.ended.promise : Promise.resolve()),
    inFlight: () => inFlight,
    /** Has no time limit of its own. */
    send: sendOn(current),
    sendAlone: createSendAlone((handlers) => new Session({ ...where, ...handlers }), authority),
    /** Calls on the current session only: a node that is replaced is another one. */
    pin(): Caller {
      const own = current();
      return { call: toCall(limitTime(sendOn(() => own))) };
    },
    probe: toCall(limitTime(sendOn(current))),
    close() {
      const old = state;
      state = { is: 'closed' };
      clearTimeout(steady);
      if (old.is === 'waiting') clearTimeout(old.timer);
      if ('session' in old) old.session.end();
    },
  };
}

export type Connection = ReturnType<typeof openConnection>;

/** Gives each call a session of its own, so that an answer that breaks the protocol ends no other call. */
function createSendAlone(openSession: (handlers: SessionHandlers) => Session, authority: Authority): Send {
  // Slow calls of one client must not hold up those of others for long.
  const limit = createLimiter({
    concurrency: maxAlone,
    maxWaiting: Number.POSITIVE_INFINITY,
    maxWaitMs: maxAloneWaitMs,
    toError: () => new Error('too many calls are sent alone'),
  });
  return (request, done) => {
    let session: Session | undefined;
    let cancelCall: Cancel | undefined;
    let isOver = false;
    const finish: Done = (answer) => {
      if (isOver) return;
      isOver = true;
      done(answer);
      session?.end();
    };
    const run = async () => {
      if (isOver) return;
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      const opened = openSession({
        onReady: () => (cancelCall = sendUnary(opened, authority, request, finish)),
        onLeave: () => undefined,
        onEnd: () => resolve(),
      });
      session = opened;
      await ended;
    };
    const fail = () => {
      // A call that was sent has an answer of its own.
      if (!cancelCall) finish(failure('unreachable'));
    };
    limit(run).then(fail, fail);
    return () => (cancelCall ? cancelCall() : finish(failure('cancelled')));
  };
}

export function createBackoff(firstMs: number, maxMs: number) {
  let waitMs = firstMs;
  return {
    /** The next wait in milliseconds: twice the last one up to the maximum, less up to half of it by chance. */
    next(): number {
      const current = waitMs;
      waitMs = Math.min(maxMs, waitMs * 2);
      return current * (0.5 + Math.random() / 2);
    },
    reset: () => (waitMs = firstMs),
  };
}
