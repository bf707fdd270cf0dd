import type { BlobStore } from '../plugins/runtime-context.ts';
import type { KeptFile } from '../store/messages.ts';

/** Of one message together: every later turn of the session reads them. */
const maxKeptBytes = 100_000;

/** The files of a message as they are stored for later turns: texts that fit, everything else by name. */
export function toKeptFiles(blobs: BlobStore): KeptFile[] | undefined {
  let bytesLeft = maxKeptBytes;
  const files = blobs.list().map((name): KeptFile => {
    const blob = blobs.get(name);
    if (!blob?.mediaType.startsWith('text/') || blob.bytes.length > bytesLeft) return { name };
    bytesLeft -= blob.bytes.length;
    return { name, text: Buffer.from(blob.bytes).toString('utf8') };
  });
  return files.length === 0 ? undefined : files;
}
