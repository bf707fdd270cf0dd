import type { CredentialCache } from './credentials.ts';
import { asRecord } from './oracle-error.ts';
import { type Link, type LinkEnd, type OpenLink, openWebSocketLink } from './socket-link.ts';
import { toQuery } from './to-query.ts';
import type { SocketEvent, SocketEventPayload } from './wire.ts';

export interface SocketChannelOptions {
  /** `https://…` or `wss://…`; a path is where Socket.IO lives below. */
  url: string;
  sessionId: string;
  transport: { readonly oracleDid: string; readonly credentials: CredentialCache };
  onEvent(event: SocketEvent): void;
  onConnected(isConnected: boolean): void;
}

export type OpenSocket = (options: SocketChannelOptions) => SocketChannel;

export interface SocketChannel {
  emit(event: 'tool_result' | 'action_call_result', payload: Record<string, unknown>): void;
  /** Connects again if the wallet declined to sign in the meantime; called once credentials are there. */
  connect(): void;
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

type State =
  | { is: 'connecting'; link: Link; by: OpenLink }
  | { is: 'connected'; link: Link; by: OpenLink; isAdmitted: boolean; socketId?: string }
  | { is: 'waiting'; timer?: ReturnType<typeof setTimeout> }
  /** The wallet has not signed. It is asked again when the user does something that needs credentials. */
  | { is: 'unsigned' }
  | { is: 'closed' };

/** The event channel of a session. It reconnects automatically, each time with valid credentials. */
export function openSocketChannel(options: SocketChannelOptions): SocketChannel {
  const { sessionId } = options;
  const { credentials, oracleDid } = options.transport;
  const address = toSocketAddress(options.url);
  const query = { sessionId };
  const page = globalThis as Partial<EventTarget>;
  let state: State = { is: 'waiting' };
  /** How the next link is opened, and whether the service has answered on one opened so. */
  let way: { open: OpenLink; hasReached: boolean } = { open: openWebSocketLink, hasReached: false };
  let offered: Awaited<ReturnType<typeof credentials.get>> = {};
  /** Since the last connection, and since the service last accepted one. */
  let failures = 0;
  let refusals = 0;
  const unsent: [name: string, payload: unknown][] = [];

  function enter(next: State): void {
    const before = state;
    if (before.is === 'closed') return;
    if (before.is === 'waiting') clearTimeout(before.timer);
    state = next;
    if (next.is === 'connected') options.onConnected(true);
    else if (before.is === 'connected' || next.is === 'closed') options.onConnected(false);
  }

  function connect(): void {
    if (state.is !== 'waiting' && state.is !== 'unsigned') return;
    const { open: by } = way;
    const auth = () => authorize(by);
    enter({ is: 'connecting', by, link: by({ ...address, query, auth, onConnected, onEvent, onEnd }) });
  }

  async function authorize(open: OpenLink) {
    way = { open, hasReached: true };
    offered = await credentials.get(oracleDid);
    return { invocation: offered.invocation, ucanDelegation: offered.delegation };
  }

  function onConnected(): void {
    if (state.is !== 'connecting') return;
    const { link, by } = state;
    failures = 0;
    enter({ is: 'connected', link, by, isAdmitted: false });
    for (const [name, payload] of unsent.splice(0)) link.emit(name, payload);
  }

  function onEvent(eventName: string, body: unknown): void {
    if (state.is !== 'connected') return;
    // A service may accept any connection and close those it refuses: only a first event shows that it is accepted.
    if (eventName !== 'error') {
      state.isAdmitted = true;
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
    if (eventName === 'connected' && typeof payload.socketId === 'string') state.socketId = payload.socketId;
    options.onEvent({ eventName, payload } as unknown as SocketEvent);
  }

  function onEnd(end: LinkEnd): void {
    if (state.is !== 'connecting' && state.is !== 'connected') return;
    const { by } = state;
    const isAdmitted = state.is === 'connected' && state.isAdmitted;
    if (end.reason === 'declined') enter({ is: 'unsigned' });
    else if (end.reason === 'broken') {
      // WebSockets may have failed for a moment only, as while the service restarts.
      if (by !== openWebSocketLink) way = { open: openWebSocketLink, hasReached: false };
      else if (!way.hasReached) void findOtherWay();
      waitAfter(failures++);
    } else refused(end.reason === 'refused' ? asRecord(end.data)?.statusCode : !isAdmitted && 401);
  }

  function refused(statusCode: unknown): void {
    // A wallet is asked once for what was refused, not each time.
    if (statusCode === 401 && refusals === 0) credentials.refuse(oracleDid, offered);
    if (statusCode === 404) enter({ is: 'closed' });
    else waitAfter(++refusals);
  }

  function waitAfter(attempts: number): void {
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** attempts);
    enter({ is: 'waiting', timer: setTimeout(connect, pauseMs * (0.75 + Math.random() / 2)) });
  }

  /** A service that answers requests, but no WebSocket, is behind something that lets none through. */
  async function findOtherWay(): Promise<void> {
    try {
      const { origin, path } = address;
      const reply = await fetch(`${origin}${path}/${toQuery({ ...query, EIO: 4, transport: 'polling' })}`);
      if (!(await reply.text()).startsWith('0{')) return;
      const { openPollingLink } = await import('./polling-link.ts');
      if (way.hasReached) return;
      way = { open: openPollingLink, hasReached: false };
      connect();
    } catch {}
  }

  const onOnline = () => state.is === 'waiting' && connect();
  page.addEventListener?.('online', onOnline);
  connect();

  return {
    emit(name, payload) {
      if (state.is === 'connected') state.link.emit(name, payload);
      else unsent.push([name, payload]);
    },
    socketId: () => (state.is === 'connected' ? state.socketId : undefined),
    connect() {
      if (state.is === 'unsigned') connect();
    },
    close() {
      page.removeEventListener?.('online', onOnline);
      if ('link' in state) state.link.close();
      enter({ is: 'closed' });
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
