import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';
import type { Attachment } from '@palaver/contract';
import { mxcUriPattern } from '@palaver/contract';
import { z } from 'zod';
import { type GuardedGetOptions, type GuardedReply, guardedGet, UnreachableError } from './guarded-get.ts';

export interface MatrixMediaOptions extends GuardedGetOptions {
  homeserver: URL;
  /** Where events are looked up. */
  roomId: string | undefined;
}

const encryptedFileSchema = z.object({
  url: z.string().regex(mxcUriPattern),
  key: z.object({ k: z.string(), alg: z.literal('A256CTR') }),
  iv: z.string(),
  hashes: z.object({ sha256: z.string() }),
});

type EncryptedFile = z.infer<typeof encryptedFileSchema>;

const eventSchema = z.object({
  type: z.string(),
  content: z
    .object({ url: z.string().regex(mxcUriPattern).optional(), file: encryptedFileSchema.optional() })
    .catch({}),
});

/** The bytes of an attachment, by its event where the room is known (the event holds the key of an encrypted file). */
export async function fetchAttachment({ mxcUri, eventId }: Attachment, options: MatrixMediaOptions): Promise<Buffer> {
  if (eventId !== undefined && options.roomId !== undefined) {
    const { url, file } = await fetchEvent(options.roomId, eventId, options);
    if (file) return decrypt(await fetchMedia(file.url, options), file);
    if (url !== undefined) return fetchMedia(url, options);
    throw new UnreachableError('its event holds no file');
  }
  if (mxcUri === undefined) throw new UnreachableError('its room is not known; send it as metadata.roomId');
  return fetchMedia(mxcUri, options);
}

async function fetchEvent(roomId: string, eventId: string, options: MatrixMediaOptions) {
  const path = `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/event/${encodeURIComponent(eventId)}`;
  const { body } = requireFound(await ask(path, options));
  const event = eventSchema.safeParse(parseJson(body));
  if (!event.success) throw new UnreachableError('its event cannot be read');
  if (event.data.type === 'm.room.encrypted')
    throw new UnreachableError('its event is end-to-end encrypted, which only the room’s members can read');
  return event.data.content;
}

/** The authenticated endpoint first; homeservers from before Matrix 1.11 have only the old one. */
async function fetchMedia(mxcUri: string, options: MatrixMediaOptions): Promise<Buffer> {
  const [server = '', mediaId = ''] = mxcUri.slice('mxc://'.length).split('/');
  const place = `${encodeURIComponent(server)}/${encodeURIComponent(mediaId)}`;
  const reply = await ask(`/_matrix/client/v1/media/download/${place}`, options);
  const isMissing = reply.status === 404 || reply.status === 405 || (reply.status === 401 && !options.token);
  return requireFound(isMissing ? await ask(`/_matrix/media/v3/download/${place}`, options) : reply).body;
}

async function ask(path: string, options: MatrixMediaOptions): Promise<GuardedReply> {
  return guardedGet(new URL(path, options.homeserver), options);
}

function requireFound(reply: GuardedReply): GuardedReply {
  if (reply.status === 200) return reply;
  if (reply.status === 401 || reply.status === 403) throw new UnreachableError('the homeserver did not let us read it');
  if (reply.status === 404) throw new UnreachableError('the homeserver does not have it');
  throw new UnreachableError(`the homeserver answered ${reply.status}`);
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

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
