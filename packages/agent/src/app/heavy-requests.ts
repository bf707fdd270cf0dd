import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import { createFairQueue } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClientKey } from '../auth/client-key.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** It reads much of what a user has stored: few such requests are served at once. */
    isHeavy?: boolean;
    /** Its body goes to the disk as it arrives. */
    isUpload?: boolean;
  }
}

/** Reading, checking and storing a body of this size takes milliseconds. */
const heavyBodyBytes = 64 * 1024;
/** A usual token has half a KiB; a chain of proofs is verified one by one. */
const heavyTokenCharacters = 4 * 1024;
/** What is costly of a request is done by then, also of one whose reply is streamed for minutes. */
const slotMs = 200;

/**
 * Serves costly requests a few at a time, and of each client address one, before anything of them is read: however many keys
 * and addresses send them, a short message is answered in between.
 */
export function addHeavyGate(server: Server, { clientKey }: { clientKey: ClientKey }): void {
  const queue = createFairQueue({ atOnce: 3, waiting: 200, waitingPerUser: 40, waitingPerClient: 40 });
  server.addHook('onRequest', async (request, reply) => {
    if (!isHeavy(request)) return;
    const client = clientKey(request);
    const entered = Promise.withResolvers<boolean>();
    const served = queue.run({ userDid: client ?? request.id, client }, async () => {
      entered.resolve(true);
      await isServed(reply);
      return true;
    });
    void served.then((done) => entered.resolve(done ?? false));
    if (await entered.promise) return;
    reply.header('retry-after', '5');
    throw new AppError('UNAVAILABLE', 'Too many large requests are waiting. Please try again in a moment.');
  });
}

function isHeavy({ headers, method, routeOptions }: FastifyRequest): boolean {
  const { isHeavy: isHeavyRoute, isUpload } = routeOptions.config;
  const tokens = (headers.authorization?.length ?? 0) + (headers['x-ucan-delegation']?.length ?? 0);
  const hasLargeBody =
    method !== 'GET' &&
    !isUpload &&
    (Number(headers['content-length'] ?? 0) > heavyBodyBytes || 'transfer-encoding' in headers);
  return isHeavyRoute === true || tokens > heavyTokenCharacters || hasLargeBody;
}

async function isServed({ raw }: FastifyReply): Promise<void> {
  const served = new AbortController();
  raw.once('close', () => served.abort());
  if (raw.closed || raw.destroyed) return;
  await sleep(slotMs, undefined, { signal: served.signal }).catch(() => undefined);
}
