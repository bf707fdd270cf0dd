import type { io as IO, Socket } from 'socket.io-client';
import { asRecord } from './oracle-error.ts';
import type { Transport } from './transport.ts';
import type { SocketEvent, SocketEventPayload } from './wire.ts';

export interface SocketChannelOptions {
  /** `https://…` or `wss://…`; a path is where Socket.IO lives below. */
  url: string;
  sessionId: string;
  transport: Pick<Transport, 'oracleDid' | 'credentials'>;
  onEvent(event: SocketEvent): void;
  onConnected(isConnected: boolean): void;
}

export interface SocketChannel {
  emit(event: 'tool_result' | 'action_call_result', payload: Record<string, unknown>): void;
  /** Connects again if the wallet declined to sign in the meantime; called once credentials are there. */
  connect(): void;
  /** The id by which the service knows this connection. */
  socketId(): string | undefined;
  close(): void;
}

const heard = [
  'connected',
  'tool_call',
  'action_call',
  'approval_request',
  'browser_tool_call',
  'render_component',
  'router_update',
  'message_cache_invalidation',
  'error',
] satisfies (keyof SocketEventPayload)[];

const firstPauseMs = 500;
const longestPauseMs = 10_000;

/** The event channel of a session. It reconnects automatically, each time with valid credentials. */
export function openSocketChannel(options: SocketChannelOptions): SocketChannel {
  let isClosed = false;
  let isLoading = false;
  let connection: SocketChannel | undefined;

  // Socket.IO is half of the library's size and is not needed to draw a page.
  async function load(): Promise<void> {
    if (isLoading) return;
    isLoading = true;
    try {
      const { io } = await import('socket.io-client');
      if (!isClosed) connection = openConnection(options, io);
    } catch {
      // Not to be had at this moment; the next `connect` tries again.
    }
    isLoading = false;
  }
  void load();

  return {
    emit: (event, payload) => connection?.emit(event, payload),
    socketId: () => connection?.socketId(),
    connect() {
      if (connection) connection.connect();
      else void load();
    },
    close() {
      isClosed = true;
      connection?.close();
    },
  };
}

function openConnection(options: SocketChannelOptions, io: typeof IO): SocketChannel {
  const { sessionId, transport } = options;
  const { origin, path } = toSocketAddress(options.url);
  const { credentials, oracleDid } = transport;
  let offered: Awaited<ReturnType<typeof credentials.get>> = {};
  let refusals = 0;
  let isAdmitted = false;
  /** The session does not exist: connecting again cannot help. */
  let isRefused = false;
  let socketId: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const socket: Socket = io(origin, {
    path,
    query: { sessionId },
    transports: ['websocket', 'polling'],
    tryAllTransports: true,
    forceNew: true,
    autoConnect: false,
    reconnectionDelay: firstPauseMs,
    reconnectionDelayMax: longestPauseMs,
    auth: (send) => {
      credentials.get(oracleDid).then(
        (tokens) => {
          offered = tokens;
          send({ invocation: tokens.invocation, ucanDelegation: tokens.delegation });
        },
        // The wallet declined. It is not asked again until the user does something that needs credentials.
        () => socket.disconnect(),
      );
    },
  });

  /** Socket.IO itself comes back only after a broken connection, not after the service has ended or refused one. */
  function reconnect(areCredentialsRefused: boolean): void {
    // A wallet is asked once for what was refused, not each time.
    if (areCredentialsRefused && refusals === 0) credentials.refuse(oracleDid, offered);
    refusals += 1;
    timer = setTimeout(
      () => {
        timer = undefined;
        socket.connect();
      },
      Math.min(longestPauseMs, firstPauseMs * 2 ** refusals),
    );
  }

  socket.on('connect', () => {
    isAdmitted = false;
    options.onConnected(true);
  });
  // A service may accept any connection and end those it refuses: being admitted is being told something.
  socket.onAny((eventName: string) => {
    if (eventName === 'error') return;
    isAdmitted = true;
    refusals = 0;
  });
  socket.on('disconnect', (reason) => {
    socketId = undefined;
    options.onConnected(false);
    if (reason === 'io server disconnect') reconnect(!isAdmitted);
  });
  socket.on('connect_error', (error: Error & { data?: unknown }) => {
    if (socket.active) return;
    const { statusCode } = asRecord(error.data) ?? {};
    if (statusCode === 404) {
      isRefused = true;
      return;
    }
    reconnect(statusCode === 401);
  });
  for (const eventName of heard) {
    socket.on(eventName, (body: unknown) => {
      const flat = asRecord(body);
      if (!flat) return;
      // `approval_request` has its request id in the flat form alone.
      const { requestId } = flat;
      const payload: Record<string, unknown> = {
        ...(requestId !== undefined && { requestId }),
        ...(asRecord(flat.payload) ?? flat),
      };
      if (eventName === 'connected' && typeof payload.socketId === 'string') socketId = payload.socketId;
      options.onEvent({ eventName, payload } as unknown as SocketEvent);
    });
  }
  socket.connect();

  return {
    emit: (event, payload) => socket.emit(event, payload),
    socketId: () => socketId,
    connect() {
      if (!socket.active && !isRefused && timer === undefined) socket.connect();
    },
    close() {
      clearTimeout(timer);
      socket.removeAllListeners().offAny();
      socket.disconnect();
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
