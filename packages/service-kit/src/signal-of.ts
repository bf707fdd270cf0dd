import { AppError } from '@palaver/contract';
import type { FastifyReply } from 'fastify';

/** Fires when the client has left before the reply was complete. */
export function signalOf({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const leave = () => {
    if (!raw.writableFinished) controller.abort(new AppError('REQUEST_TIMEOUT', 'The client has disconnected.'));
  };
  raw.once('close', leave);
  if (raw.destroyed || raw.socket?.destroyed) leave();
  return controller.signal;
}
