import { asRecord } from './oracle-error.ts';
import { toQuery } from './to-query.ts';

/** `declined`: the wallet did not sign. `broken`: no connection, or one that broke. */
export type LinkEnd = { reason: 'refused'; data: unknown } | { reason: 'ended' | 'declined' | 'broken' };

export interface LinkOptions {
  origin: string;
  path: string;
  query: Record<string, string>;
  /** Asked once the service has answered. */
  auth(): Promise<Record<string, unknown>>;
  onConnected(): void;
  onEvent(name: string, body: unknown): void;
  /** Called once, unless `close` is called before. */
  onEnd(end: LinkEnd): void;
}

export interface Link {
  emit(name: string, payload: unknown): void;
  close(): void;
}

export type OpenLink = (options: LinkOptions) => Link;

export const handshakeMs = 20_000;

/** What is used of `WebSocket`; the core compiles without the types of browsers. */
interface Socket {
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: (() => void) | null;
  onerror: (() => void) | null;
  send(text: string): void;
  close(): void;
}

/** Of an Engine.IO packet, and of the Socket.IO packet inside a message. */
const [openType, closeType, pingType, pong, message] = ['0', '1', '2', '3', '4'];
const [connectType, disconnectType, eventType, refusedType] = ['0', '1', '2', '4'];

// Socket.IO 4 over a WebSocket, as far as an agent's events need it: one namespace, texts only, no acknowledgements.
// https://socket.io/docs/v4/engine-io-protocol/ and https://socket.io/docs/v4/socket-io-protocol/
export function openWebSocketLink(options: LinkOptions): Link {
  const { origin, path, query, auth } = options;
  const page = globalThis as Partial<EventTarget> & { WebSocket?: new (url: string) => Socket };
  let isOver = false;
  let silenceMs = handshakeMs;
  let timer: ReturnType<typeof setTimeout>;
  let socket: Socket | undefined;

  const end = (how: LinkEnd) => {
    if (isOver) return;
    leave();
    options.onEnd(how);
  };
  const breakOff = () => end({ reason: 'broken' });
  const leave = () => {
    isOver = true;
    clearTimeout(timer);
    page.removeEventListener?.('offline', breakOff);
    socket?.close();
  };
  const listen = () => {
    clearTimeout(timer);
    timer = setTimeout(breakOff, silenceMs);
  };

  function takeMessage(type: string | undefined, text: string): void {
    if (type === connectType) options.onConnected();
    else if (type === disconnectType) end({ reason: 'ended' });
    else if (type === refusedType) end({ reason: 'refused', data: asRecord(parse(text))?.data });
    else if (type === eventType) {
      const event = parse(text.replace(/^\d+/, ''));
      if (Array.isArray(event)) options.onEvent(String(event[0]), event[1]);
    }
  }

  function takePacket(packet: unknown): void {
    if (isOver || typeof packet !== 'string') return;
    const [type, inner] = packet;
    if (type === openType) {
      const { pingInterval, pingTimeout } = (parse(packet.slice(1)) ?? {}) as Record<string, number>;
      silenceMs = (pingInterval ?? 0) + (pingTimeout ?? 0) || handshakeMs;
      auth().then(
        (tokens) => isOver || socket?.send(message + connectType + JSON.stringify(tokens)),
        () => end({ reason: 'declined' }),
      );
    } else if (type === pingType) socket?.send(pong);
    else if (type === closeType) breakOff();
    else if (type === message) takeMessage(inner, packet.slice(2));
    if (!isOver) listen();
  }

  listen();
  page.addEventListener?.('offline', breakOff);
  try {
    socket =
      page.WebSocket &&
      new page.WebSocket(
        `${origin.replace(/^http/, 'ws')}${path}/${toQuery({ ...query, EIO: 4, transport: 'websocket' })}`,
      );
  } catch {
    // A policy of the page forbids the address.
  }
  if (socket) {
    socket.onmessage = ({ data }) => takePacket(data);
    socket.onclose = breakOff;
    socket.onerror = breakOff;
  } else queueMicrotask(breakOff);
  return {
    emit: (name, payload) => socket?.send(message + eventType + JSON.stringify([name, payload])),
    close: leave,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
