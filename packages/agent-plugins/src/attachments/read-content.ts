import { AppError, type Attachment } from '@palaver/contract';
import type { QueueOwner } from '@palaver/service-kit/internal';
import { fitsDeclared, readFileKind } from './read-file-kind.ts';
import { readPdf } from './read-pdf.ts';

/** What the model gets of a file: its text, or the image itself. */
export async function readContent(
  { filename, mimetype }: Attachment,
  bytes: Buffer,
  owner: QueueOwner,
): Promise<{ content: Buffer | string; mediaType: string }> {
  const file = await readFileKind(bytes);
  if (!file) throw failed(`${filename} is not a text, a PDF or an image (PNG, JPEG, GIF, WebP).`, filename);
  if (!fitsDeclared(mimetype, file.kind))
    throw failed(`The content of ${filename} does not match its type ${mimetype}.`, filename);
  if (file.kind === 'image') return { content: bytes, mediaType: file.mediaType };
  const read = file.kind === 'text' ? file : await readPdf(bytes, owner);
  if (!read) throw failed(`${filename} was not read: too many PDFs are waiting. Send it again in a moment.`, filename);
  if (read === 'unreadable') throw failed(`${filename} is a PDF that cannot be read.`, filename);
  if (read.text.trim() === '') throw failed(`${filename} has no text in it.`, filename);
  return { content: read.text, mediaType: 'text/plain' };
}

/** As much of a text as there is room for, and a note of what is missing. */
export function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const shown = Math.max(maxCharacters, 0);
  return `${text.slice(0, shown)}\n[Only the first ${shown} of ${text.length} characters are shown.]`;
}

/** An attachment that the message is refused for. */
export function failed(message: string, filename?: string, cause?: unknown): AppError {
  return new AppError('ATTACHMENT_FAILED', message, { cause, ...(filename && { details: { filename } }) });
}
