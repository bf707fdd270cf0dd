// What connections of Socket.IO cost beside the events that are handled: anyone can open one, and its packets are parsed first.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket as NetSocket } from 'node:net';
import { agentLimits } from '@palaver/contract';
import { createMinuteWindows } from '@palaver/contract/internal';
import { type ByteShare, createByteCounter } from '@palaver/service-kit/internal';
import type { Server, Socket } from 'socket.io';

type Connection = Socket['conn'];

interface Parts {
  /** By whom bytes are counted; a connection counts for itself where it is undefined. */
  ownerOf(request: IncomingMessage): string | undefined;
  /** It has sent more than its owner may in a minute. */
  onOver(connection: Connection): void;
  heldBytes?: number;
  kibPerMinute?: number;
}

const mebibyte = 1024 * 1024;

const toLength = (data: unknown) => (typeof data === 'string' || data instanceof Uint8Array ? data.length : 0);

/** Bounds what connections hold of packets that have not arrived whole or are not taken, and what is parsed in a minute. */
export function limitSocketBytes(io: Server, { ownerOf, onOver, ...limits }: Parts): void {
  const { heldBytes = 48 * mebibyte, kibPerMinute = agentLimits.socketKibPerMinute } = limits;
  // Where they are many, each owner may have an equal part.
  const held = createByteCounter(
    ({ own, others, owners }) => own + others <= heldBytes || own <= heldBytes / owners,
    () => new Error('too many bytes of sockets are held'),
  );
  const parsed = createMinuteWindows();
  const receivers = new Map<string, (request: IncomingMessage) => void>();

  io.engine.on('connection', (connection: Connection) => {
    const { sid } = connection.transport;
    const owner = ownerOf(connection.request) ?? sid;
    const arriving = held(owner);
    let waiting = held(owner);
    let sending = held(owner);
    let hasAsked = false;
    const streams = new Set<NetSocket>();
    const take = (share: ByteShare, bytes: number) => {
      try {
        share.take(bytes);
      } catch {
        // It would not read why.
        for (const stream of streams) stream.destroy();
        connection.close(true);
      }
    };
    /** Of a request of this connection: its body, or what follows where it becomes a WebSocket. */
    const receive = (request: IncomingMessage) => {
      const { socket } = request;
      const isUpgrade = request.headers.upgrade !== undefined;
      (isUpgrade ? socket : request).on('data', ({ length }) => take(arriving, length));
      if (streams.has(socket)) return;
      streams.add(socket);
      socket.once('close', () => {
        streams.delete(socket);
        if (isUpgrade) sending.free();
      });
    };
    receivers.set(sid, receive);
    if (connection.transport.name === 'websocket') receive(connection.request);

    connection.on('packet', (packet: { type: string; data?: unknown }) => {
      arriving.free();
      if (packet.type !== 'message') return;
      const { data } = packet;
      const isConnect = typeof data === 'string' && data.startsWith('0');
      // A connection signs in once.
      if (isConnect && hasAsked) {
        packet.type = 'noop';
        return connection.close();
      }
      hasAsked ||= isConnect;
      const kib = Math.ceil(toLength(data) / 1024);
      const isOver = parsed.look(owner).count + kib > kibPerMinute;
      if (isOver) onOver(connection);
      else parsed.add(owner, kib);
      // No event has binary parts: read by nobody, they are not kept until all have come.
      if (isOver || typeof data !== 'string' || /^[56]/.test(data)) packet.type = 'noop';
    });
    connection.on('packetCreate', ({ data }: { data?: unknown }) => {
      if (typeof data === 'string') take(waiting, data.length);
    });
    connection.on('flush', () => {
      const sent = waiting;
      waiting = held(owner);
      const { transport } = connection;
      const { res } = transport as { res?: ServerResponse | null };
      // A reply may stay unread while the next one is asked for.
      if (res) res.once('close', sent.free);
      else {
        sending = sent;
        transport.once('drain', sent.free);
      }
    });
    connection.once('close', () => {
      receivers.delete(sid);
      arriving.free();
      waiting.free();
    });
  });

  io.engine.use((request: IncomingMessage & { _query: { sid?: string } }, _reply: unknown, next: () => void) => {
    if (request.method === 'POST' || request.headers.upgrade !== undefined)
      receivers.get(request._query.sid ?? '')?.(request);
    next();
  });
}
