import { Readable } from 'node:stream';
import { AppError } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import { createByteCounter, createFairQueue, type QueueOwner } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClientKey } from '../auth/authorize.ts';
import { sizeOf } from '../runs/input.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its body goes to the disk as it arrives. */
    isUpload?: boolean;
  }
  interface FastifyRequest {
    /** Waits until few others do costly work. The place is the request's until its reply is ready or it ends. */
    takePlace(bytes: number): Promise<void>;
    leavePlace(): void;
    /** Does work on that many bytes in a place of its own. */
    inPlace<T>(bytes: number, work: () => Promise<T>): Promise<T>;
    freeBody: (() => void) | null;
  }
}

/** Reading, checking, storing and writing this much takes milliseconds. */
const heavyBytes = 64 * 1024;
/** A usual token has half a KiB; a chain of proofs is verified one by one. */
const heavyTokenCharacters = 4 * 1024;
const arrivingBytes = 64 * 1024 * 1024;

/** Does costly work for a few requests at a time, in fair order. A place ends with its work, so that no client can hold one. */
export function addHeavyGate(server: Server, { clientKey }: { clientKey: ClientKey }): void {
  const limits = { atOnce: 3, waiting: 200, waitingPerUser: 40 };
  const work = createFairQueue(limits);
  // Of their own: a token may wait for the DID document of its issuer.
  const tokens = createFairQueue(limits);
  const places = new WeakMap<FastifyRequest, () => void>();
  // Where they are many, each client may have an equal part.
  const arriving = createByteCounter(
    ({ own, others, owners }) => own + others <= arrivingBytes || own <= arrivingBytes / owners,
    tooMuch,
  );

  async function enter(request: FastifyRequest, queue: typeof work, owner: QueueOwner): Promise<void> {
    const [entered, left] = [Promise.withResolvers<boolean>(), Promise.withResolvers<void>()];
    const { socket } = request.raw;
    const leave = () => {
      left.resolve();
      entered.reject(new AppError('REQUEST_TIMEOUT', 'The client has disconnected.'));
    };
    socket.once('close', leave);
    places.set(request, left.resolve);
    if (socket.destroyed) leave();
    const served = queue.run(owner, async () => {
      entered.resolve(true);
      await left.promise;
      return true;
    });
    void served.then((done) => entered.resolve(done ?? false)).finally(() => socket.off('close', leave));
    if (!(await entered.promise)) throw tooMuch();
  }

  server.decorateRequest('takePlace', async function takePlace(this: FastifyRequest, bytes: number) {
    if (bytes <= heavyBytes || places.has(this)) return;
    const client = clientKey(this);
    await enter(this, work, { userDid: this.identity?.did ?? client ?? this.id, client });
  });
  server.decorateRequest('leavePlace', function leavePlace(this: FastifyRequest) {
    places.get(this)?.();
    places.delete(this);
  });
  server.decorateRequest('inPlace', async function inPlace<
    T,
  >(this: FastifyRequest, bytes: number, does: () => Promise<T>) {
    await this.takePlace(bytes);
    return await does().finally(() => this.leavePlace());
  });

  server.addHook('onRequest', async (request) => {
    const { authorization, 'x-ucan-delegation': delegation } = request.headers;
    if ((authorization?.length ?? 0) + (delegation?.length ?? 0) <= heavyTokenCharacters) return;
    const client = clientKey(request);
    await enter(request, tokens, { userDid: client ?? request.id, client });
  });
  server.addHook('preParsing', async (request, _reply, payload) => {
    request.leavePlace();
    if (!mayBeLarge(request)) return payload;
    const share = arriving(clientKey(request) ?? request.identity?.did ?? '');
    try {
      const body = await readBody(payload, request.routeOptions.bodyLimit, share.take);
      await request.takePlace(body.bytes);
      return body.payload;
    } finally {
      share.free();
    }
  });
  // What a handler does may take as long as its client likes: it takes a place of its own for what costs much.
  server.addHook('preHandler', async (request) => request.leavePlace());
  // One that a handler took, and whose reply passes no `onSend`.
  server.addHook('onResponse', async (request) => request.leavePlace());
  server.addHook('onSend', async (request, reply) => {
    request.leavePlace();
    if (reply.statusCode === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', '5');
  });
}

const tooMuch = () => new AppError('UNAVAILABLE', 'Too many large requests are waiting. Please try again in a moment.');

function mayBeLarge({ headers, method, is404, routeOptions }: FastifyRequest): boolean {
  if (is404 || routeOptions.config.isUpload || ['GET', 'HEAD', 'OPTIONS'].includes(method)) return false;
  const length = Number(headers['content-length'] ?? 0);
  // One that is too long is refused unread.
  return 'transfer-encoding' in headers || (length > heavyBytes && length <= routeOptions.bodyLimit);
}

/** Waits for a body; of one that is too long, for as much as may be read. */
async function readBody(payload: AsyncIterable<Buffer>, limit: number, onChunk: (bytes: number) => void) {
  const chunks: Buffer[] = [];
  const rest = payload[Symbol.asyncIterator]();
  let bytes = 0;
  while (bytes <= limit) {
    const { value, done } = await rest.next().catch((cause) => {
      throw new AppError('BAD_REQUEST', 'The body did not arrive whole.', { cause });
    });
    if (done) return { bytes, payload: Object.assign(Readable.from(chunks), { receivedEncodedLength: bytes }) };
    chunks.push(value);
    bytes += value.length;
    onChunk(value.length);
  }
  async function* readAll() {
    yield* chunks;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  return { bytes, payload: Readable.from(readAll()) };
}

/** Bytes of bodies whose requests are not answered, and of replies that are not taken. */
const maxBytes = 96 * 1024 * 1024;
/** Smaller replies fit into the buffers of their connections. */
const smallReply = 16 * 1024;

/** Bounds what requests and replies hold in memory: the fuller it is, the less each client address may have. */
export function limitHeldBytes(server: Server, { clientKey }: { clientKey: ClientKey }): void {
  const open = createByteCounter(
    ({ own, others }) => own <= (maxBytes - others) / 4,
    () => new AppError('UNAVAILABLE', 'Too many large requests and replies are under way. Try again in a moment.'),
  );

  /** Until the returned function is called, or the reply is done with. */
  function take(request: FastifyRequest, { raw }: FastifyReply, bytes: number): () => void {
    const share = open(clientKey(request) ?? request.headers.authorization ?? '');
    share.take(bytes);
    if (raw.closed) share.free();
    raw.once('close', share.free);
    return share.free;
  }

  server.decorateRequest('freeBody', null);
  server.addHook('preValidation', async (request, reply) => {
    const { body } = request;
    if (body === undefined || body === null || body instanceof Readable) return;
    request.freeBody = take(request, reply, sizeOf(body));
  });
  server.addHook('onSend', async (request, reply, payload) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    if (bytes > smallReply) take(request, reply, bytes);
  });
}

/** The body is not needed any more, while its reply may take long. */
export function dropBody(request: FastifyRequest): void {
  request.freeBody?.();
  request.body = undefined;
}
