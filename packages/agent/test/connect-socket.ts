import { waitFor } from '@palaver/test-kit';
import { io, type Socket } from 'socket.io-client';

export interface TestSocket {
  socket: Socket;
  /** Every event so far, in order. */
  events: { name: string; payload: Record<string, unknown> }[];
  /** The first event of that name, once it has come. */
  event(name: string): Promise<Record<string, unknown>>;
  /** Sends an event and gives the answer's event. */
  ask(name: string, answer: string, payload?: unknown): Promise<Record<string, unknown>>;
  disconnected(): Promise<boolean>;
}

export interface SocketOptions {
  query?: Record<string, unknown>;
  auth?: Record<string, unknown>;
  transports?: ('websocket' | 'polling')[];
}

/** A socket.io client that is connecting. */
export function openSocket(
  url: string,
  { query = {}, auth = {}, transports = ['websocket'] }: SocketOptions,
): TestSocket {
  const socket = io(url, { query, auth, transports, reconnection: false, forceNew: true });
  const events: TestSocket['events'] = [];
  socket.onAny((name: string, payload: Record<string, unknown>) => events.push({ name, payload }));
  const find = (name: string, from = 0) =>
    waitFor(`the event ${name}`, () => events.slice(from).find((event) => event.name === name)?.payload);
  return {
    socket,
    events,
    event: (name) => find(name),
    ask(name, answer, payload) {
      const before = events.length;
      socket.emit(name, payload);
      return find(answer, before);
    },
    disconnected: () => waitFor('the socket to be closed', () => socket.disconnected && !socket.active),
  };
}

/** The error that a refused handshake receives. */
export async function refusalOf({ socket }: TestSocket): Promise<Record<string, unknown>> {
  const error = await new Promise<Error & { data?: Record<string, unknown> }>((resolve, reject) => {
    socket.once('connect_error', resolve);
    socket.once('connect', () => reject(new Error('it was let in')));
  });
  socket.close();
  return error.data ?? { message: error.message };
}
