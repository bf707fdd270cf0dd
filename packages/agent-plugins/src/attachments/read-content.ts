import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { AppError, type Attachment } from '@palaver/contract';
import { createFairQueue, type QueueOwner } from '@palaver/service-kit/internal';

export async function readContent({ filename, mimetype }: Attachment, bytes: Buffer, owner: QueueOwner) {
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

export function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const shown = Math.max(maxCharacters, 0);
  return `${text.slice(0, shown)}\n[Only the first ${shown} of ${text.length} characters are shown.]`;
}

export function failed(message: string, filename?: string, cause?: unknown): AppError {
  return new AppError('ATTACHMENT_FAILED', message, { cause, ...(filename && { details: { filename } }) });
}

type FileKind = { kind: 'image' | 'pdf'; mediaType: string } | { kind: 'text'; mediaType: 'text/plain'; text: string };

const images: { mediaType: string; matches(bytes: Buffer): boolean }[] = [
  { mediaType: 'image/png', matches: (bytes) => startsWith(bytes, '89504e470d0a1a0a') },
  { mediaType: 'image/jpeg', matches: (bytes) => startsWith(bytes, 'ffd8ff') },
  { mediaType: 'image/gif', matches: (bytes) => /^GIF8[79]a/.test(bytes.toString('latin1', 0, 6)) },
  { mediaType: 'image/webp', matches: (bytes) => /^RIFF.{4}WEBP/s.test(bytes.toString('latin1', 0, 12)) },
];

/** Readers take a PDF whose header comes a little late. */
const headBytes = 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they distinguish a binary file from a text.
const binary = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

async function readFileKind(bytes: Buffer): Promise<FileKind | undefined> {
  const marked = readMark(bytes);
  if (marked) return marked;
  const texts: string[] = [];
  const probe = createKindProbe((text) => texts.push(text));
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    probe.add(bytes.subarray(at, at + pieceBytes));
    // Other requests are served between two pieces: a large text takes a tenth of a second.
    await setImmediate();
  }
  return probe.end() && { kind: 'text', mediaType: 'text/plain', text: texts.join('') };
}

export function createKindProbe(onText: (text: string) => void = () => {}) {
  let head: Buffer = Buffer.alloc(0);
  /** What has not been decoded: the encoding is known by the first two bytes. */
  let pending: Buffer = Buffer.alloc(0);
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let isText = true;

  function decode(bytes: Buffer, stream: boolean): void {
    if (!isText) return;
    const encoding = startsWith(head, 'fffe') ? 'utf-16le' : startsWith(head, 'feff') ? 'utf-16be' : 'utf-8';
    decoder ??= new TextDecoder(encoding, { fatal: true });
    try {
      const text = decoder.decode(bytes, { stream });
      isText = !binary.test(text);
      onText(text);
    } catch {
      isText = false;
    }
  }

  return {
    add(chunk: Buffer): void {
      head = Buffer.concat([head, chunk.subarray(0, headBytes - head.length)]);
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      if (head.length < 2) return;
      decode(pending, true);
      pending = Buffer.alloc(0);
    },
    end(): Pick<FileKind, 'kind' | 'mediaType'> | undefined {
      decode(pending, false);
      return readMark(head) ?? (isText ? { kind: 'text', mediaType: 'text/plain' } : undefined);
    },
  };
}

function readMark(bytes: Buffer): Exclude<FileKind, { kind: 'text' }> | undefined {
  const image = images.find(({ matches }) => matches(bytes));
  if (image) return { kind: 'image', mediaType: image.mediaType };
  return bytes.subarray(0, headBytes).includes('%PDF-') ? { kind: 'pdf', mediaType: 'application/pdf' } : undefined;
}

/** Whether a declared media type is of that kind. What says nothing (empty, `application/octet-stream`) fits all. */
export function fitsDeclared(declared: string, kind: FileKind['kind']): boolean {
  const type = declared.replace(/ ?;.*$/, '').toLowerCase();
  if (type === 'application/pdf') return kind === 'pdf';
  if (type.startsWith('text/') || type === 'image/svg+xml' || /[/+](json|xml|yaml|x-yaml|csv|javascript)$/.test(type))
    return kind === 'text';
  if (type.startsWith('image/')) return kind === 'image';
  return !/^(audio|video|font)\//.test(type);
}

function startsWith(bytes: Buffer, hex: string): boolean {
  return bytes.subarray(0, hex.length / 2).equals(Buffer.from(hex, 'hex'));
}

const pieceBytes = 256 * 1024;

const timeoutMs = 20_000;
const heapMb = 192;
/** All that the process may write to; V8 reserves about 550 MB of it for code, which it hardly uses. */
const dataKb = 1_000_000;
const maxTextBytes = 40_000_000;
// A published package holds this file and the reader as JavaScript.
const reader = fileURLToPath(new URL('./pdf-reader.ts', import.meta.url)).replace(/\.ts$/, extname(import.meta.url));
const shell = '/bin/sh';

const queue = createFairQueue({ atOnce: 2, waiting: 16, waitingPerUser: 4 });

/** The text of a PDF, in a process with hard limits: a few kilobytes can unpack to gigabytes. Undefined if too many wait. */
function readPdf(bytes: Buffer, owner: QueueOwner): Promise<{ text: string } | 'unreadable' | undefined> {
  return queue.run(owner, () =>
    readInProcess(bytes).then(
      (text) => ({ text }),
      () => 'unreadable' as const,
    ),
  );
}

/** The shell sets a limit of the kernel, which also holds for memory outside the heap. It is enforced on Linux. */
async function readInProcess(bytes: Buffer): Promise<string> {
  const args = [`--max-old-space-size=${heapMb}`, reader];
  const limited = ['-c', `ulimit -d ${dataKb}; exec "$0" "$@"`, process.execPath, ...args];
  const [command, given] = existsSync(shell) ? [shell, limited] : [process.execPath, args];
  // Without the environment, which holds secrets; what it writes about the file is not logged.
  const limits = { env: {}, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: maxTextBytes } as const;
  const reading = promisify(execFile)(command, given, limits);
  // A reader that ends early closes its input.
  reading.child.stdin?.on('error', () => {}).end(bytes);
  return (await reading).stdout;
}
