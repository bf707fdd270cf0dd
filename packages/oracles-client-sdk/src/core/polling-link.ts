import { io } from 'socket.io-client';
import { asRecord } from './oracle-error.ts';
import { handshakeMs, type Link, type LinkEnd, type LinkOptions } from './socket-link.ts';

/** Socket.IO by requests alone, for networks that let no WebSocket through. Its bytes are loaded only there. */
export function openPollingLink(options: LinkOptions): Link {
  let isOver = false;
  const socket = io(options.origin, {
    path: options.path,
    query: options.query,
    transports: ['polling'],
    forceNew: true,
    reconnection: false,
    timeout: handshakeMs,
    auth: (send) => {
      options.auth().then(
        (tokens) => isOver || send(tokens),
        () => end({ reason: 'declined' }),
      );
    },
  });
  const leave = () => {
    isOver = true;
    socket.removeAllListeners().offAny();
    socket.disconnect();
  };
  const end = (how: LinkEnd) => {
    if (isOver) return;
    leave();
    options.onEnd(how);
  };
  socket.on('connect', options.onConnected);
  socket.onAny((name: string, body: unknown) => options.onEvent(name, body));
  socket.on('disconnect', (reason) => end({ reason: reason === 'io server disconnect' ? 'ended' : 'broken' }));
  socket.on('connect_error', (error: Error & { data?: unknown }) =>
    end('data' in error ? { reason: 'refused', data: asRecord(error.data) } : { reason: 'broken' }),
  );
  return { emit: (name, payload) => socket.emit(name, payload), close: leave };
}
