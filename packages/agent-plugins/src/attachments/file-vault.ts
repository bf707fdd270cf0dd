import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { AppError, agentLimits } from '@palaver/contract';
import type { UploadedFile } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import { changePieces } from '@palaver/store/internal';
import { v7 as uuidv7 } from 'uuid';
import type { FileStorage, Staging } from './file-storage.ts';
import type { FileStore, StoredFile, Uploader } from './file-store.ts';
import { createKindProbe, fitsDeclared } from './read-content.ts';

interface VaultParts {
  files: FileStore;
  storage: FileStorage;
  staging: Staging;
  /** 0 keeps files as long as their session. */
  rules: { retentionDays: number };
  minFreeBytes: number;
  logger: Logger;
}

type Upload = Uploader & { filename: string; declared: string; body: Readable; length: number };

interface Reading {
  userDid: string;
  fileId: string;
  sessionId: string;
  /** Called before its bytes are read; throws where they are too many. */
  onSize(bytes: number): void;
}

const sweepMs = 60_000;
/** Each is written to the disk before its size is known. */
const uploadsAtOncePerUser = 3;
const uploadsAtOncePerClient = 12;
const checkEveryBytes = 1024 * 1024;

export type FileVault = ReturnType<typeof createFileVault>;

export function createFileVault({ files, storage, staging, rules, minFreeBytes, logger }: VaultParts) {
  let stopped = false;
  let sweeping: ReturnType<typeof runEvery> | undefined;

  const uploading = new Set<Upload>();

  /** Nothing of an upload is written before this. */
  async function admit({ length, ...uploader }: Upload): Promise<void> {
    const { userDid, client } = uploader;
    const atOnce = (isCounted: (other: Upload) => boolean) => [...uploading].filter(isCounted).length;
    if (atOnce((other) => other.userDid === userDid) > uploadsAtOncePerUser)
      throw new AppError('RATE_LIMITED', `You may upload ${uploadsAtOncePerUser} files at once.`);
    if (client !== undefined && atOnce((other) => other.client === client) > uploadsAtOncePerClient)
      throw new AppError('RATE_LIMITED', `Your address may upload ${uploadsAtOncePerClient} files at once.`);
    await files.checkLimits(uploader, length);
    await checkSpace(length);
  }

  async function checkSpace(bytes: number): Promise<void> {
    if ((await staging.freeBytes()) - bytes >= minFreeBytes) return;
    logger.warn('an upload was refused: the disk has too little space left');
    throw new AppError('UNAVAILABLE', 'There is no space for files at the moment.');
  }

  /** What arrives takes space, not what may arrive: a slow upload keeps nobody else from theirs. */
  async function* withinSpace(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let unchecked = 0;
    for await (const chunk of body) {
      unchecked += chunk.length;
      if (unchecked >= checkEveryBytes) {
        await checkSpace(unchecked);
        unchecked = 0;
      }
      yield chunk;
    }
  }

  async function store(wanted: Upload): Promise<UploadedFile> {
    await admit(wanted);
    const { userDid, client, filename, declared, body } = wanted;
    const fileId = uuidv7();
    const path = staging.path(fileId);
    try {
      // An iterator that destroys the request would close the connection before the refusal is sent.
      const chunks = withinSpace(body.iterator({ destroyOnReturn: false }));
      const { mimetype, size, secret, sha256 } = await receiveFile(chunks, path, declared);
      const file = { fileId, filename, mimetype, size, createdAt: new Date().toISOString() };
      await files.add({ userDid, client }, { ...file, secret });
      await storage.put(fileId, { path, sha256 }).catch(async (error) => {
        await files.withdraw(fileId);
        throw error;
      });
      return file;
    } finally {
      await rm(path, { force: true });
    }
  }

  async function open(userDid: string, fileId: string): Promise<{ file: UploadedFile; bytes: Readable } | undefined> {
    const found = await files.find(userDid, fileId);
    if (!found) return undefined;
    const { secret, ...file } = found;
    const bytes = await openBytes(found);
    return bytes && { file, bytes };
  }

  async function openBytes({ fileId, secret }: StoredFile): Promise<Readable | undefined> {
    const encrypted = await storage.read(fileId);
    if (encrypted) return decryptFile(encrypted, secret);
    logger.warn({ fileId }, 'the bytes of an uploaded file are missing from the storage of this instance');
    return undefined;
  }

  async function sweep(): Promise<void> {
    await staging.removeAbandoned();
    await files.removeExpired(rules);
    const removeSome = async (limit: number) => {
      const orphans = await files.orphans(limit);
      for (const id of orphans) {
        await storage.remove(id);
        await files.forget(id);
      }
      return stopped ? 0 : orphans.length;
    };
    await changePieces(removeSome);
  }

  return {
    open,
    remove: files.remove,

    async upload(wanted: Upload): Promise<UploadedFile> {
      uploading.add(wanted);
      try {
        return await store(wanted);
      } catch (error) {
        if (error instanceof AppError) throw error;
        if (wanted.body.readableAborted)
          throw new AppError('REQUEST_TIMEOUT', 'The client has disconnected.', { cause: error });
        logger.warn({ err: error }, 'an uploaded file could not be stored');
        throw new AppError('UNAVAILABLE', 'The file cannot be stored at the moment.', { cause: error });
      } finally {
        uploading.delete(wanted);
      }
    },

    async read({ userDid, fileId, sessionId, onSize }: Reading): Promise<Buffer | undefined> {
      const found = await files.find(userDid, fileId);
      if (!found) return undefined;
      onSize(found.size);
      const opened = await openBytes(found);
      if (!opened) return undefined;
      const bytes = await buffer(opened);
      await files.claim(userDid, fileId, sessionId);
      return bytes;
    },

    start(): void {
      const onFault = (error: unknown) => logger.warn({ err: error }, 'uploaded files could not be swept');
      sweeping = runEvery({ everyMs: sweepMs, firstMs: 0, work: sweep, onFault });
    },
    async stop(): Promise<void> {
      stopped = true;
      await sweeping?.stop();
    },
  };
}

export const fileTooLarge = () =>
  new AppError('PAYLOAD_TOO_LARGE', `A file may have at most ${agentLimits.attachmentBytes} bytes.`);

const algorithm = 'aes-256-gcm';
const [keyBytes, nonceBytes] = [32, 12];

async function receiveFile(body: AsyncIterable<Buffer>, path: string, declared: string) {
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
    if (size > agentLimits.attachmentBytes) throw fileTooLarge();
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
  return { sha256: hash.digest('hex'), size, mimetype: kind.mediaType, secret };
}

/** The stream fails where the file's bytes have changed since the upload. */
function decryptFile(encrypted: Readable, secret: string): Readable {
  const bytes = Buffer.from(secret, 'base64url');
  const tagAt = keyBytes + nonceBytes;
  const [key, nonce] = [bytes.subarray(0, keyBytes), bytes.subarray(keyBytes, tagAt)];
  const decipher: Transform = createDecipheriv(algorithm, key, nonce).setAuthTag(bytes.subarray(tagAt));
  return pipeline(encrypted, decipher, () => {});
}
