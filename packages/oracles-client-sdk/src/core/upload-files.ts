import { createRandomId } from './random-id.ts';
import type { Transport } from './transport.ts';
import type { Attachment } from './wire.ts';

export interface UploadOptions {
  filename?: string | undefined;
  /** Called with the share that has been sent, 0 to 1. */
  onProgress?: ((share: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** What goes along with a message: a file of this device, or one that is stored already. */
export type OutgoingFile = Attachment | Blob;

/** Stores a file at the agent; the result goes along with a message. */
export async function uploadFile(
  transport: Pick<Transport, 'json'>,
  file: Blob,
  { filename = nameOf(file), onProgress, signal }: UploadOptions = {},
): Promise<Attachment> {
  const path = `/files?filename=${encodeURIComponent(filename)}`;
  const stored = await transport.json<Attachment>(path, { method: 'POST', file, onProgress, signal });
  return { fileId: stored.fileId, filename: stored.filename, mimetype: stored.mimetype };
}

export function toShownFiles(files: readonly OutgoingFile[] | undefined): Attachment[] | undefined {
  return files?.map((file) => (isBlob(file) ? { filename: nameOf(file), mimetype: file.type } : file));
}

export async function uploadAll(
  transport: Pick<Transport, 'json'>,
  files: readonly OutgoingFile[],
  { onProgress, signal }: Pick<UploadOptions, 'onProgress' | 'signal'>,
): Promise<Attachment[]> {
  const total = files.reduce((sum, file) => sum + (isBlob(file) ? file.size : 0), 0);
  const attachments: Attachment[] = [];
  let sent = 0;
  for (const file of files) {
    if (!isBlob(file)) {
      attachments.push(file);
      continue;
    }
    const before = sent;
    const report = onProgress && ((share: number) => onProgress((before + share * file.size) / (total || 1)));
    attachments.push(await uploadFile(transport, file, { onProgress: report, signal }));
    sent += file.size;
    onProgress?.(sent / (total || 1));
  }
  return attachments;
}

export function isBlob(file: OutgoingFile): file is Blob {
  return typeof Blob !== 'undefined' && file instanceof Blob;
}

function nameOf(file: Blob): string {
  const { name } = file as { name?: unknown };
  return typeof name === 'string' && name !== '' ? name : `file-${createRandomId().slice(0, 8)}`;
}
