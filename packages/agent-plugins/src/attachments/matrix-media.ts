import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Attachment } from '@palaver/contract';
import { type EncryptedFile, encryptedFileSchema, mxcUriPattern, parseJson } from '@palaver/contract/internal';
import { isAllowedHost, openPublic, RefusedAddressError } from '@palaver/ucan/open-public';
import { z } from 'zod';

export interface MatrixMediaOptions extends GuardedGetOptions {
  homeserver: URL;
  roomId: string | undefined;
  /** The user's room with the agent: tried where no other is known. */
  ownRoomId: string | undefined;
}

const eventSchema = z.object({
  type: z.string(),
  content: z
    .object({ url: z.string().regex(mxcUriPattern).optional(), file: encryptedFileSchema.optional() })
    .catch({}),
});

const errorSchema = z.object({ errcode: z.string().optional() }).catch({});

/** The bytes of an attachment. Its event decides where the room is known, unless the key came with the request. */
export async function fetchAttachment(attachment: Attachment, options: MatrixMediaOptions): Promise<Buffer> {
  const { mxcUri, eventId } = attachment;
  if (attachment.file) return fetchEncrypted(attachment.file, options);
  const roomId = options.roomId ?? (mxcUri === undefined ? options.ownRoomId : undefined);
  if (eventId !== undefined && roomId !== undefined) {
    const { url, file } = await fetchEvent(roomId, eventId, options).catch((error) => {
      if (options.roomId !== undefined) throw error;
      throw new UnreachableError('its room is not known; send it as metadata.roomId', { cause: error });
    });
    if (file) return fetchEncrypted(file, options);
    if (url !== undefined) return fetchMedia(url, options);
    throw new UnreachableError('its event holds no file');
  }
  return fetchMedia(mxcUri ?? '', options);
}

async function fetchEncrypted(file: EncryptedFile, options: MatrixMediaOptions): Promise<Buffer> {
  return decrypt(await fetchMedia(file.url, options), file);
}

async function fetchEvent(roomId: string, eventId: string, options: MatrixMediaOptions) {
  const path = `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/event/${encodeURIComponent(eventId)}`;
  const { body } = requireFound(await ask(path, options));
  const event = eventSchema.safeParse(parseJson(body.toString('utf8')));
  if (!event.success) throw new UnreachableError('its event cannot be read');
  if (event.data.type === 'm.room.encrypted')
    throw new UnreachableError('its event is end-to-end encrypted; send its `file` from the decrypted event');
  return event.data.content;
}

/** The authenticated endpoint first; homeservers from before Matrix 1.11 have only the old one. */
async function fetchMedia(mxcUri: string, options: MatrixMediaOptions): Promise<Buffer> {
  const [server = '', mediaId = ''] = mxcUri.slice('mxc://'.length).split('/');
  const place = `${encodeURIComponent(server)}/${encodeURIComponent(mediaId)}`;
  const reply = await ask(`/_matrix/client/v1/media/download/${place}`, options);
  const needsToken = reply.status === 401 && !options.token;
  if (reply.status !== 404 && reply.status !== 405 && !needsToken) return requireFound(reply).body;
  const old = await ask(`/_matrix/media/v3/download/${place}`, options);
  return requireFound(needsToken && old.status !== 200 ? reply : old).body;
}

/** A homeserver may be below a path of its host. */
async function ask(path: string, options: MatrixMediaOptions): Promise<GuardedReply> {
  const { origin, pathname } = options.homeserver;
  return guardedGet(new URL(origin + pathname.replace(/\/+$/, '') + path), options);
}

function requireFound(reply: GuardedReply): GuardedReply {
  if (reply.status === 200) return reply;
  throw new UnreachableError(toReason(reply));
}

function toReason({ status, body }: GuardedReply): string {
  const { errcode } = errorSchema.parse(parseJson(body.toString('utf8')));
  if (errcode === 'M_UNKNOWN_TOKEN') return 'the Matrix access token is not valid or has expired; sign in again';
  if (errcode === 'M_MISSING_TOKEN') return 'the homeserver asks for an access token: send x-matrix-access-token';
  if (status === 401 || status === 403) return 'the homeserver did not let us read it';
  if (status === 404) return 'the homeserver does not have it';
  return `the homeserver answered ${status}`;
}

function decrypt(bytes: Buffer, { key, iv, hashes }: EncryptedFile): Buffer {
  const secret = Buffer.from(key.k, 'base64url');
  const start = Buffer.from(iv, 'base64');
  const wanted = Buffer.from(hashes.sha256, 'base64');
  const actual = createHash('sha256').update(bytes).digest();
  if (secret.length !== 32 || start.length !== 16) throw new UnreachableError('its key cannot be read');
  if (wanted.length !== actual.length || !timingSafeEqual(wanted, actual))
    throw new UnreachableError('it was changed on the way');
  const decipher = createDecipheriv('aes-256-ctr', secret, start);
  return Buffer.concat([decipher.update(bytes), decipher.final()]);
}

interface GuardedGetOptions {
  token: string | undefined;
  signal: AbortSignal;
  /** Hosts (`name` or `name:port`) that may be private and without TLS. */
  allowedHosts: string[];
  dnsServers: string[];
  /** Called for every chunk; throws to end the transfer. */
  onBytes(count: number): void;
}

type GuardedReply = { status: number; body: Buffer };

export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

const maxRedirects = 3;

/** Fetches from a host a stranger named. Every redirect is checked again; the token stays with the origin it was meant for. */
export async function guardedGet(start: URL, options: GuardedGetOptions): Promise<GuardedReply> {
  let url = start;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const token = url.origin === start.origin ? options.token : undefined;
    const headers = { accept: '*/*', ...(token && { authorization: `Bearer ${token}` }) };
    const isAllowed = isAllowedFrom(start, url, options.allowedHosts);
    const { signal, dnsServers } = options;
    const response = await openPublic(url, { signal, dnsServers, headers, isAllowed }).catch((error: unknown) => {
      throw error instanceof RefusedAddressError ? new UnreachableError(error.message) : error;
    });
    const { statusCode: status = 0 } = response;
    const { location } = response.headers;
    if (status >= 300 && status < 400 && location !== undefined && URL.canParse(location, url.href)) {
      response.destroy();
      url = new URL(location, url);
      continue;
    }
    return { status, body: await readBody(response, options.onBytes) };
  }
  throw new UnreachableError('it is redirected too often');
}

/** Whether a host may be private. Redirects of strangers lead to none: they would choose the path and the port on it. */
export function isAllowedFrom(start: URL, url: URL, allowedHosts: string[]): boolean {
  return [start, url].every((each) => isAllowedHost(each, allowedHosts));
}

async function readBody(response: IncomingMessage, onBytes: (count: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  // Leaving the loop early, as by a limit, closes the connection.
  for await (const chunk of response) {
    onBytes(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
