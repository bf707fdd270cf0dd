import type { CredentialCache } from './credentials.ts';
import { asRecord } from './oracle-error.ts';
import type { Link, LinkEnd, OpenLink } from './socket-link.ts';
import { toQuery } from './to-query.ts';
import { openWebSocketLink } from './web-socket-link.ts';
import type { SocketEvent, SocketEventPayload } from './wire.ts';

export interface SocketChannelOptions {
  /** `https://…` or `wss://…`; a path is where Socket.IO lives below. */
  url: string;
  sessionId: string;
  transport: { readonly oracleDid: string; readonly credentials: CredentialCache };
  onEvent(event: SocketEvent): void;
  onConnected(isConnected: boolean): void;
}

/** Opens the event channel of a session. */
export type OpenSocket = (options: SocketChannelOptions) => SocketChannel;

export interface SocketChannel {
  emit(event: 'tool_result' | 'action_call_result', payload: Record<string, unknown>): void;
  /** Connects again if the wallet declined to sign in the meantime; called once credentials are there. */
  connect(): void;
  /** The id by which the service knows this connection. */
  socketId(): string | undefined;
  close(): void;
}

const eventNames = new Set<string>([
  'connected',
  'tool_call',
  'action_call',
  'approval_request',
  'browser_tool_call',
  'render_component',
  'router_update',
  'message_cache_invalidation',
  'error',
] satisfies (keyof SocketEventPayload)[]);

const firstPauseMs = 500;
const longestPauseMs = 10_000;

/** The event channel of a session. It reconnects automatically, each time with valid credentials. */
export function openSocketChannel(options: SocketChannelOptions): SocketChannel {
  const { sessionId } = options;
  const { credentials, oracleDid } = options.transport;
  const address = toSocketAddress(options.url);
  const query = { sessionId };
  const page = globalThis as Partial<EventTarget>;
  let open: OpenLink = openWebSocketLink;
  /** How the newest link was opened. */
  let opened = open;
  let hasReached = false;
  let link: Link | undefined;
  let isConnected = false;
  let offered: Awaited<ReturnType<typeof credentials.get>> = {};
  let failures = 0;
  let refusals = 0;
  let isAdmitted = false;
  /** The channel is closed, or the session does not exist: connecting again cannot help. */
  let isOver = false;
  let socketId: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** What could not be sent yet. */
  const unsent: [name: string, payload: unknown][] = [];

  function connect(): void {
    if (isOver || link) return;
    clearTimeout(timer);
    timer = undefined;
    isAdmitted = false;
    opened = open;
    link = opened({ ...address, query, auth, onConnected, onEvent, onEnd });
  }

  async function auth() {
    hasReached = true;
    open = opened;
    offered = await credentials.get(oracleDid);
    return { invocation: offered.invocation, ucanDelegation: offered.delegation };
  }

  function onConnected(): void {
    isConnected = true;
    failures = 0;
    options.onConnected(true);
    for (const [name, payload] of unsent.splice(0)) link?.emit(name, payload);
  }

  function onEvent(eventName: string, body: unknown): void {
    // A service may accept any connection and close those it refuses: only a first event shows that it is accepted.
    if (eventName !== 'error') {
      isAdmitted = true;
      refusals = 0;
    }
    const flat = eventNames.has(eventName) ? asRecord(body) : undefined;
    if (!flat) return;
    // `approval_request` has its request id in the flat form alone.
    const { requestId } = flat;
    const payload: Record<string, unknown> = {
      ...(requestId !== undefined && { requestId }),
      ...(asRecord(flat.payload) ?? flat),
    };
    if (eventName === 'connected' && typeof payload.socketId === 'string') socketId = payload.socketId;
    options.onEvent({ eventName, payload } as unknown as SocketEvent);
  }

  function onEnd(end: LinkEnd): void {
    link = undefined;
    socketId = undefined;
    if (isConnected) options.onConnected(false);
    isConnected = false;
    // The wallet is not asked again until the user does something that needs credentials.
    if (end.reason === 'declined') return;
    if (end.reason === 'broken') {
      if (opened !== openWebSocketLink) {
        // WebSockets may have failed for a moment only, as while the service restarts.
        open = openWebSocketLink;
        hasReached = false;
      } else if (!hasReached) void findOtherWay();
      reconnectAfter(failures);
      failures += 1;
      return;
    }
    const statusCode = end.reason === 'refused' ? asRecord(end.data)?.statusCode : undefined;
    isOver ||= statusCode === 404;
    const areCredentialsRefused = end.reason === 'refused' ? statusCode === 401 : !isAdmitted;
    // A wallet is asked once for what was refused, not each time.
    if (areCredentialsRefused && refusals === 0) credentials.refuse(oracleDid, offered);
    refusals += 1;
    reconnectAfter(refusals);
  }

  function reconnectAfter(attempts: number): void {
    if (isOver) return;
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** attempts);
    // With jitter, so that clients do not all return at the same moment.
    timer = setTimeout(connect, pauseMs * (0.75 + Math.random() / 2));
  }

  /** A service that answers requests, but no WebSocket, is behind something that lets none through. */
  async function findOtherWay(): Promise<void> {
    try {
      const { origin, path } = address;
      const reply = await fetch(`${origin}${path}/${toQuery({ ...query, EIO: 4, transport: 'polling' })}`);
      if (!(await reply.text()).startsWith('0{')) return;
      const { openPollingLink } = await import('./polling-link.ts');
      if (hasReached) return;
      open = openPollingLink;
      connect();
    } catch {
      // Nothing answers; WebSockets are tried again.
    }
  }

  // While `connect` waits, a network that is back ends the wait.
  const onOnline = () => timer !== undefined && connect();
  page.addEventListener?.('online', onOnline);
  connect();

  return {
    emit(name, payload) {
      if (isConnected) link?.emit(name, payload);
      else unsent.push([name, payload]);
    },
    socketId: () => socketId,
    connect() {
      if (timer === undefined) connect();
    },
    close() {
      isOver = true;
      clearTimeout(timer);
      page.removeEventListener?.('online', onOnline);
      link?.close();
      link = undefined;
      options.onConnected(false);
    },
  };
}

/** Socket.IO takes a path in its URL for a namespace; ours is always `/`, so the path goes where it belongs. */
export function toSocketAddress(url: string): { origin: string; path: string } {
  const { location } = globalThis as { location?: { href: string } };
  // React Native's `URL` does not parse, so absolute addresses are read here.
  const absolute = /^\w+:/.test(url) ? url : new URL(url, location?.href).href;
  const [, scheme = '', host = '', path = ''] = /^(\w+):\/\/([^/?#]*)([^?#]*)/.exec(absolute) ?? [];
  const secure = /^(https|wss)$/i.test(scheme);
  return { origin: `${secure ? 'https' : 'http'}://${host}`, path: `${path.replace(/\/+$/, '')}/socket.io` };
}
