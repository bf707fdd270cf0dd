import type { AppError } from '@palaver/contract';
import { type clientEvents, toSocketPayload } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import { type RateLimit, toRateError } from '@palaver/service-kit/internal';
import type { Socket } from 'socket.io';

type Handler = (payload: unknown, acknowledge: (reply: unknown) => void) => void;

interface HandlerParts {
  logger: Logger;
  limit: RateLimit;
  /** What its events are counted by. */
  counter: string;
}

/**
 * Events of clients are looked at only in their catalogue; a handler that throws must not take the process down. Each counts
 * like a request that writes: a socket over the limit receives an error and is disconnected.
 */
export function createHandlers(socket: Socket, { logger, limit, counter }: HandlerParts) {
  return (event: (typeof clientEvents)[number]['name'], handle: Handler): void => {
    socket.on(event, async (payload: unknown, acknowledge?: unknown) => {
      try {
        const standing = await limit(counter);
        if (socket.disconnected) return;
        if (standing?.isOver) return refuse(socket, toRateError(standing));
        handle(payload, typeof acknowledge === 'function' ? (reply) => acknowledge(reply) : () => {});
      } catch (error) {
        logger.warn({ err: error, event }, 'a socket event could not be handled');
      }
    });
  };
}

function refuse(socket: Socket, { code, message }: AppError): void {
  socket.emit('error', toSocketPayload('error', { code, message }));
  socket.disconnect(true);
}
