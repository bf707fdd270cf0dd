import { Readable } from 'node:stream';
import { AppError } from '@palaver/contract';
import type { Server } from './server.ts';

const maxExports = 4;
const running = new WeakMap<object, number>();

/** A file for operators that is written while it is read. Throws where the server writes several already. */
export function toExport(server: Pick<Server, 'server'>, pieces: AsyncIterable<string>): Readable {
  const key = server.server;
  const count = running.get(key) ?? 0;
  if (count >= maxExports) {
    throw new AppError('LIMIT_REACHED', 'Other files are being exported. Try again in a minute.');
  }
  running.set(key, count + 1);
  return Readable.from(pieces).once('close', () => running.set(key, (running.get(key) ?? 1) - 1));
}
