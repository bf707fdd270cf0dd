import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/** A file on this machine that is about to be stored. */
export interface StagedFile {
  path: string;
  /** Of its bytes, in hex. */
  sha256: string;
}

/** Where the bytes of uploaded files are. They are encrypted before they come here. */
export interface FileStorage {
  put(id: string, staged: StagedFile): Promise<void>;
  /** Undefined if it is not there. */
  read(id: string): Promise<Readable | undefined>;
  /** Has no effect where it is not there. */
  remove(id: string): Promise<void>;
}

export function createFolderStorage(folder: string): FileStorage {
  const toPath = (id: string) => join(folder, id);
  return {
    put: (id, { path }) => rename(path, toPath(id)),
    async read(id) {
      try {
        return (await open(toPath(id))).createReadStream();
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    remove: (id) => rm(toPath(id), { force: true }),
  };
}

const stagedSuffix = '.part';
const abandonedMs = 3_600_000;

/** Where uploads are written until they are complete; what a process left that died meanwhile is removed an hour later. */
export function createStaging(folder: string) {
  return {
    path: (id: string) => join(folder, id + stagedSuffix),
    /** Bytes that are free where `path` is. */
    async freeBytes(): Promise<number> {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
    async removeAbandoned(): Promise<void> {
      const names = await readdir(folder).catch(() => []);
      for (const path of names.filter((name) => name.endsWith(stagedSuffix)).map((name) => join(folder, name))) {
        const found = await stat(path).catch(() => undefined);
        if (found && Date.now() - found.mtimeMs > abandonedMs) await rm(path, { force: true });
      }
    },
  };
}

export type Staging = ReturnType<typeof createStaging>;

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
