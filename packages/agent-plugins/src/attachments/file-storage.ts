import { openAsBlob } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { AwsClient } from 'aws4fetch';
import { z } from 'zod';

export type StagedFile = { path: string; sha256: string };

/** Where the bytes of uploaded files are. They are encrypted before they come here. */
export interface FileStorage {
  put(id: string, staged: StagedFile): Promise<void>;
  read(id: string): Promise<Readable | undefined>;
  /** Has no effect if the file is not there. */
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
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
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

/** For an answer to begin, an upload to the bucket included, and for each piece of its body that somebody waits for. */
const defaultTimeoutMs = 60_000;
const retries = 2;

const expected = 'expected https://KEY:SECRET@host/bucket?region=NAME, key and secret percent-encoded';

export const envBucket = () =>
  z.string().transform((text, context) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isWhole =
      url && /^https?:$/.test(url.protocol) && url.username && url.password && /^\/[^/]/.test(url.pathname);
    if (!isWhole) {
      context.addIssue({ code: 'custom', message: expected });
      return z.NEVER;
    }
    return {
      address: url.origin + url.pathname.replace(/\/+$/, ''),
      region: url.searchParams.get('region') ?? 'us-east-1',
      accessKeyId: decodeURIComponent(url.username),
      secretAccessKey: decodeURIComponent(url.password),
    };
  });

type Bucket = z.output<ReturnType<typeof envBucket>>;

/** A bucket of any S3-compatible service, by path: `https://host/bucket/id`. */
export function createS3Storage({ address, ...credentials }: Bucket, timeoutMs = defaultTimeoutMs): FileStorage {
  const client = new AwsClient({ ...credentials, service: 's3', retries });

  async function ask(id: string, init: RequestInit): Promise<Response> {
    const controller = new AbortController();
    const end = setTimeout(() => controller.abort(), timeoutMs);
    const response = await client
      .fetch(`${address}/${id}`, { ...init, signal: controller.signal })
      .finally(() => clearTimeout(end));
    if (response.ok || response.status === 404) return response;
    await response.body?.cancel();
    throw new Error(`the bucket answered ${init.method} with ${response.status}`);
  }

  return {
    async put(id, { path, sha256 }) {
      const body = await openAsBlob(path);
      const { status } = await ask(id, { method: 'PUT', body, headers: { 'x-amz-content-sha256': sha256 } });
      if (status === 404) throw new Error('there is no such bucket');
    },
    async read(id) {
      const { status, body } = await ask(id, { method: 'GET' });
      if (status !== 404 && body) return Readable.from(readPieces(body, timeoutMs), { objectMode: false });
      await body?.cancel();
      return undefined;
    },
    async remove(id) {
      await (await ask(id, { method: 'DELETE' })).body?.cancel();
    },
  };
}

/** Time in which nobody asks for the next piece does not count: a client reads at its own pace. */
async function* readPieces(body: ReadableStream<Uint8Array>, timeoutMs: number): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    while (true) {
      let isLate = false;
      const end = setTimeout(() => {
        isLate = true;
        reader.cancel().catch(() => {});
      }, timeoutMs);
      const { done, value } = await reader.read().finally(() => clearTimeout(end));
      if (isLate) throw new Error('the bucket has stopped sending');
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
