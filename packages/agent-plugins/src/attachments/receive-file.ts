import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { AppError, agentLimits } from '@palaver/contract';
import type { StagedFile } from './file-storage.ts';
import { createKindProbe, fitsDeclared } from './read-file-kind.ts';

export interface ReceivedFile extends StagedFile {
  size: number;
  /** What it is by its content. */
  mediaType: string;
  /** What decrypts it. */
  secret: string;
}

const algorithm = 'aes-256-gcm';
const [keyBytes, nonceBytes] = [32, 12];

/**
 * Writes an upload to `path`, encrypted with a key of its own, while it is checked: no more than a piece of it is in memory.
 * Throws where it is too large or of a kind that no model reads.
 */
export async function receiveFile(body: AsyncIterable<Buffer>, path: string, declared: string): Promise<ReceivedFile> {
  const [key, nonce] = [randomBytes(keyBytes), randomBytes(nonceBytes)];
  const cipher = createCipheriv(algorithm, key, nonce);
  const hash = createHash('sha256');
  const probe = createKindProbe();
  let size = 0;
  await using file = await open(path, 'wx', 0o600);
  const write = async (bytes: Buffer) => {
    hash.update(bytes);
    await file.appendFile(bytes);
  };
  for await (const chunk of body) {
    size += chunk.length;
    if (size > agentLimits.attachmentBytes)
      throw new AppError('PAYLOAD_TOO_LARGE', `A file may have at most ${agentLimits.attachmentBytes} bytes.`);
    probe.add(chunk);
    await write(cipher.update(chunk));
  }
  await write(cipher.final());
  if (size === 0) throw new AppError('BAD_REQUEST', 'The file is empty.');
  const kind = probe.end();
  if (!kind)
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'The file is not a text, a PDF or an image (PNG, JPEG, GIF, WebP).');
  if (!fitsDeclared(declared, kind.kind))
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', `The content of the file does not match its type ${declared}.`);
  const secret = Buffer.concat([key, nonce, cipher.getAuthTag()]).toString('base64url');
  return { path, sha256: hash.digest('hex'), size, mediaType: kind.mediaType, secret };
}

/** The file as it was uploaded; the stream fails where its bytes have changed since. */
export function decryptFile(encrypted: Readable, secret: string): Readable {
  const bytes = Buffer.from(secret, 'base64url');
  const tagAt = keyBytes + nonceBytes;
  const decipher: Transform = createDecipheriv(
    algorithm,
    bytes.subarray(0, keyBytes),
    bytes.subarray(keyBytes, tagAt),
  ).setAuthTag(bytes.subarray(tagAt));
  return pipeline(encrypted, decipher, () => {});
}
