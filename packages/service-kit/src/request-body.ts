import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@palaver/contract';
import type { FastifyRequest } from 'fastify';
import type { Server } from './server.ts';

type Headers = FastifyRequest['headers'];

/** A compressed body is refused: nothing is decompressed here. */
export function findEncodingFault({ 'content-encoding': encoding = '' }: Headers): AppError | undefined {
  if (['', 'identity'].includes(encoding.trim().toLowerCase())) return undefined;
  return new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without Content-Encoding.');
}

/** Some HTTP libraries name the old default of forms, but send ASCII. */
const subsets = ['us-ascii', 'iso-8859-1'];

/** Why a body is no text: 415 by its headers, 400 by its bytes. */
export function findTextFault(headers: Headers, bytes: Buffer): AppError | undefined {
  const encodingFault = findEncodingFault(headers);
  if (encodingFault) return encodingFault;
  const [, named = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '') ?? [];
  const charset = named.toLowerCase();
  if (charset !== 'utf-8' && charset !== 'utf8' && !(subsets.includes(charset) && isAscii(bytes)))
    return new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as UTF-8.');
  return isUtf8(bytes) ? undefined : new AppError('BAD_REQUEST', 'The body is not UTF-8.');
}

type Parse = (request: FastifyRequest, text: string, done: (error: Error | null, body?: unknown) => void) => void;

export function addTextParser(
  server: Pick<Server, 'addContentTypeParser'>,
  types: string | string[],
  parse: Parse,
): void {
  server.addContentTypeParser(types, { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    const fault = findTextFault(request.headers, bytes);
    if (fault) done(fault);
    else parse(request, bytes.toString(), done);
  });
}

const quote = 0x22;
const backslash = 0x5c;
const openings = new Set([0x5b, 0x7b]);
const closings = new Set([0x5d, 0x7d]);
const comma = 0x2c;

/** Deeper than anything people write, and far from overflowing the stack. */
const maxJsonDepth = 100;

/** `JSON.parse` reads any depth, but `JSON.stringify` and other recursive functions overflow: refuse such a text unread. */
export function isJsonTooDeep(json: string, max = maxJsonDepth): boolean {
  return measureJson(json, max).isTooDeep;
}

/** Measures a JSON text without reading it; if it is too deep, up to there. */
export function measureJson(json: string, maxDepth = maxJsonDepth): { isTooDeep: boolean; values: number } {
  let depth = 0;
  let values = 1;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code === quote) index = findStringEnd(json, index);
    else if (closings.has(code)) depth -= 1;
    else if (code === comma) values += 1;
    else if (openings.has(code)) {
      depth += 1;
      values += 1;
      if (depth > maxDepth) return { isTooDeep: true, values };
    }
  }
  return { isTooDeep: false, values };
}

/** The quote that ends the string whose quote is at `start`. `indexOf` passes a long text ten times as fast as a loop. */
function findStringEnd(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let first = end;
    while (json.charCodeAt(first - 1) === backslash) first -= 1;
    const isEscaped = (end - first) % 2 === 1;
    if (!isEscaped) return end;
  }
  return json.length;
}

/** The longest time for a whole upload, unless any request may take longer. */
export const longestUploadMs = 10 * 60_000;

interface RequestTimes {
  /** For a request to arrive; for the next bytes of an upload. */
  requestTimeoutMs: number;
  isUpload(request: { method: string; url: string }): boolean;
}

/** Node has one limit for all requests, which must be that of uploads. Here an upload ends when nothing arrives for so long. */
export function limitRequestTime(server: Server, { requestTimeoutMs, isUpload }: RequestTimes): void {
  const watched = new WeakSet<IncomingMessage>();

  function watch(request: IncomingMessage, response: ServerResponse): void {
    const { headers, socket, method = '', url = '' } = request;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    if (watched.has(request)) return;
    watched.add(request);
    let read = socket.bytesRead;
    const timer = setInterval(() => {
      const isProgressing = isUpload({ method, url }) && !response.writableEnded && socket.bytesRead > read;
      read = socket.bytesRead;
      if (isProgressing) return;
      clearInterval(timer);
      if (request.complete) return;
      const late = Object.assign(new Error('The request did not arrive in time.'), {
        code: 'ERR_HTTP_REQUEST_TIMEOUT',
      });
      // As Node does after its own limit.
      if (response.headersSent) socket.destroy();
      else server.server.emit('clientError', late, socket);
    }, requestTimeoutMs).unref();
    request.once('close', () => clearInterval(timer)).once('end', () => clearInterval(timer));
  }

  // No hook runs for Socket.IO's requests or malformed URLs. Socket.IO replaces listeners it finds, so add ours later.
  server.addHook('onReady', (done) => {
    server.server.prependListener('request', watch);
    done();
  });
  // With `HOST=localhost` Fastify has a second server, for the other address; its requests come only here.
  server.addHook('onRequest', ({ raw }, reply, done) => {
    watch(raw, reply.raw);
    done();
  });
}
