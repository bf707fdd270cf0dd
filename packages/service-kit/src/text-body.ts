import { isAscii, isUtf8 } from 'node:buffer';
import { AppError } from '@palaver/contract';
import type { FastifyRequest } from 'fastify';
import type { Server } from './server.ts';

type Headers = FastifyRequest['headers'];

/** Why a body is refused whatever is in it: it is compressed, and nothing here is decompressed. */
export function findEncodingFault({ 'content-encoding': encoding = '' }: Headers): AppError | undefined {
  if (['', 'identity'].includes(encoding.trim().toLowerCase())) return undefined;
  return new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without Content-Encoding.');
}

/** Some HTTP libraries name the old default of forms, and what they send is ASCII. */
const subsets = ['us-ascii', 'iso-8859-1'];

/** Why the bytes of a body are no text: 415 by its headers, 400 by the bytes. */
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

/** Reads bodies of these types as text, and refuses what is not text. */
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
