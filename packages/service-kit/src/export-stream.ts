import { Readable } from 'node:stream';
import { AppError } from '@palaver/contract';
import type { FastifyReply } from 'fastify';
import type { Server } from './server.ts';

const maxExports = 4;
const running = new WeakMap<object, number>();
const types = { csv: 'text/csv', json: 'application/json', xml: 'text/xml' };

/** Sends a file for operators that is written while it is read. Throws where the server writes several already. */
export function sendFile(
  { server }: Pick<Server, 'server'>,
  reply: FastifyReply,
  name: `${string}.${keyof typeof types}`,
  pieces: AsyncIterable<string>,
): FastifyReply {
  const count = running.get(server) ?? 0;
  if (count >= maxExports)
    throw new AppError('LIMIT_REACHED', 'Other files are being exported. Try again in a minute.');
  running.set(server, count + 1);
  const file = Readable.from(pieces).once('close', () => running.set(server, (running.get(server) ?? 1) - 1));
  const type = types[name.slice(name.lastIndexOf('.') + 1) as keyof typeof types];
  return reply
    .header('content-disposition', `attachment; filename="${name}"`)
    .type(`${type}; charset=utf-8`)
    .send(file);
}
