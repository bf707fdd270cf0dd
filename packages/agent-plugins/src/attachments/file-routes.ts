import { Readable } from 'node:stream';
import { identityOf } from '@palaver/agent';
import { AppError, agentLimits } from '@palaver/contract';
import { fileParamsSchema, type UploadedFile, uploadedFileSchema, uploadQuerySchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { describeRoutes, findEncodingFault } from '@palaver/service-kit/internal';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type FileVault, fileTooLarge } from './file-vault.ts';

export interface FileRoutes {
  vault: FileVault;
  clientOf(request: FastifyRequest): string | undefined;
}

const route = describeRoutes('Files');

export async function addFileRoutes(server: Server, routes: FileRoutes): Promise<void> {
  const { vault } = routes;
  await server.register(async (scope: Server) => addUpload(scope, routes));

  const read = route('The bytes of a file you have uploaded', {
    params: fileParamsSchema,
    response: { 200: { description: 'The file', content: { '*/*': { schema: z.unknown() } } } },
  });
  server.get('/files/:fileId', { schema: read }, async (request, reply) => {
    const opened = await vault.open(identityOf(request).did, request.params.fileId);
    if (!opened) throw fileNotFound();
    const { file, bytes } = opened;
    // Never HTML: the type was found by content. Without a length, so that a client notices a stream that fails.
    return reply.type(file.mimetype).header('content-disposition', toDisposition(file)).send(bytes);
  });

  const response = { 200: z.object({ ok: z.literal(true) }) };
  const remove = route('Delete a file you have uploaded', { params: fileParamsSchema, response });
  server.delete('/files/:fileId', { schema: remove }, async (request) => {
    if (await vault.remove(identityOf(request).did, request.params.fileId)) return { ok: true as const };
    throw fileNotFound();
  });
}

function addUpload(server: Server, { vault, clientOf }: FileRoutes): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
  const schema = route('Upload a file', {
    description:
      'The body is the file itself: a text, a PDF or an image, whatever its `content-type`. Name it as an attachment of a message by its `fileId`.',
    querystring: uploadQuerySchema,
    response: { 201: uploadedFileSchema },
  });
  server.post('/files', { config: { isUpload: true, takesFile: '*/*' }, schema }, async (request, reply) => {
    const { headers, query } = request;
    const length = Number(headers['content-length'] ?? 0);
    const fault = findEncodingFault(headers) ?? (length > agentLimits.attachmentBytes ? fileTooLarge() : undefined);
    try {
      if (fault) {
        await discard(request.body);
        throw fault;
      }
      if (!(request.body instanceof Readable)) throw new AppError('BAD_REQUEST', 'The file is empty.');
      const upload = {
        userDid: identityOf(request).did,
        client: clientOf(request),
        filename: query.filename,
        declared: headers['content-type'] ?? '',
        body: request.body,
        length,
      };
      return reply.code(201).send(await vault.upload(upload));
    } catch (error) {
      reply.header('connection', 'close');
      const code = error instanceof AppError ? error.code : undefined;
      if (code === 'UNAVAILABLE') reply.header('retry-after', '60');
      if (code === 'RATE_LIMITED') reply.header('retry-after', '1');
      throw error;
    }
  });
}

const discardedBytes = 2 * agentLimits.attachmentBytes;
const discardMs = 10_000;

/** Most clients read no answer before they have sent the whole body, and fail when the connection closes meanwhile. */
function discard(body: unknown): Promise<void> {
  if (!(body instanceof Readable)) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  let bytes = 0;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > discardedBytes) resolve();
  };
  const timer = setTimeout(resolve, discardMs);
  body.on('data', count).once('close', resolve).once('end', resolve);
  return promise.finally(() => {
    clearTimeout(timer);
    body.off('data', count).pause();
  });
}

const fileNotFound = (): AppError => new AppError('NOT_FOUND', 'There is no such file.');

/** The name in ASCII for old clients, and as it is (RFC 6266). */
function toDisposition({ filename }: UploadedFile): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
