import type { BlobSource, BlobStore } from '../plugins/runtime-context.ts';

/** The blobs of a turn, which are in memory only while it runs. */
export interface TurnBlobs extends BlobStore {
  /** Lets go of bytes that can be read again. */
  release(): void;
  /** Reads again what was released. */
  load(signal: AbortSignal): Promise<void>;
  /** Whether another process can read all of them. */
  areStored(): boolean;
}

const noBytes = new Uint8Array();

export function createBlobStore(): TurnBlobs {
  const blobs = new Map<string, { bytes: Uint8Array; mediaType: string }>();
  let source: BlobSource | undefined;
  let isReleased = false;
  return {
    put: (name, bytes, mediaType) => void blobs.set(name, { bytes, mediaType }),
    get: (name) => blobs.get(name),
    list: () => [...blobs.keys()],
    readAgainFrom(given) {
      source = given;
    },
    release() {
      if (!source || isReleased) return;
      isReleased = true;
      for (const name of source.names()) {
        const { mediaType = '' } = blobs.get(name) ?? {};
        blobs.set(name, { bytes: noBytes, mediaType });
      }
      source.release();
    },
    async load(signal) {
      if (!isReleased) return;
      await source?.load(signal);
      isReleased = false;
    },
    areStored() {
      const stored = new Set(source?.names());
      return source?.isStored === true && [...blobs.keys()].every((name) => stored.has(name));
    },
  };
}
