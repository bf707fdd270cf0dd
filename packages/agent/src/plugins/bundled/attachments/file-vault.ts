import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { AppError, type UploadedFile } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import { v7 as uuidv7 } from 'uuid';
import type { FileStorage, Staging } from './file-storage.ts';
import type { FileRules, FileStore } from './file-store.ts';
import { decryptFile, receiveFile } from './receive-file.ts';

export interface VaultParts {
  files: FileStore;
  storage: FileStorage;
  staging: Staging;
  rules: FileRules;
  logger: Logger;
}

export interface Upload {
  userDid: string;
  filename: string;
  /** The type that the client says it has. */
  declared: string;
  body: Readable;
  /** Its size as the client says it. */
  length: number;
}

interface Reading {
  userDid: string;
  fileId: string;
  sessionId: string;
  /** Called before its bytes are read; throws where they are too many. */
  onSize(bytes: number): void;
}

const sweepMs = 60_000;

export type FileVault = ReturnType<typeof createFileVault>;

/** The files that users upload: only their owner reads them. */
export function createFileVault({ files, storage, staging, rules, logger }: VaultParts) {
  let timer: NodeJS.Timeout | undefined;
  let sweeping = Promise.resolve();

  async function upload({ userDid, filename, declared, body, length }: Upload): Promise<UploadedFile> {
    await files.checkLimits(userDid, length);
    const fileId = uuidv7();
    const path = await staging.path(fileId);
    try {
      const { mediaType: mimetype, size, secret, ...staged } = await receiveFile(body, path, declared);
      const file = { fileId, filename, mimetype, size, createdAt: new Date().toISOString() };
      await files.add(userDid, { ...file, secret });
      await storage.put(fileId, staged).catch(async (error) => {
        await files.remove(userDid, fileId);
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
    const encrypted = await storage.read(fileId);
    if (encrypted) return { file, bytes: decryptFile(encrypted, secret) };
    logger.warn({ fileId }, 'the bytes of an uploaded file are missing from the storage of this instance');
    return undefined;
  }

  async function sweep(): Promise<void> {
    await staging.removeAbandoned();
    await files.removeExpired(rules);
    for (const id of await files.orphans()) {
      await storage.remove(id);
      await files.forget(id);
    }
  }

  function sweepRegularly(): void {
    sweeping = sweep().catch((error) => logger.warn({ err: error }, 'uploaded files could not be swept'));
    timer = setTimeout(sweepRegularly, sweepMs);
  }

  return {
    open,
    remove: files.remove,

    async upload(wanted: Upload): Promise<UploadedFile> {
      try {
        return await upload(wanted);
      } catch (error) {
        if (error instanceof AppError || wanted.body.destroyed) throw error;
        logger.warn({ err: error }, 'an uploaded file could not be stored');
        throw new AppError('UNAVAILABLE', 'The file cannot be stored at the moment.', { cause: error });
      }
    },

    /** The whole file, for a message of this session; from now on it goes with the session. */
    async read({ userDid, fileId, sessionId, onSize }: Reading): Promise<Buffer | undefined> {
      const opened = await open(userDid, fileId);
      if (!opened) return undefined;
      onSize(opened.file.size);
      const bytes = await buffer(opened.bytes);
      await files.claim(userDid, fileId, sessionId);
      return bytes;
    },

    /** Looks for files to remove, now and every minute. */
    start: sweepRegularly,
    async stop(): Promise<void> {
      clearTimeout(timer);
      await sweeping;
      clearTimeout(timer);
    },
  };
}
