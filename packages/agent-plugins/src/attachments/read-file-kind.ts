import { setImmediate } from 'node:timers/promises';

export type FileKind =
  | { kind: 'image'; mediaType: string }
  | { kind: 'pdf'; mediaType: 'application/pdf' }
  | { kind: 'text'; mediaType: 'text/plain'; text: string };

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

/** What a file is by its content, whatever it is called; undefined if it is nothing a model can read. */
export async function readFileKind(bytes: Buffer): Promise<FileKind | undefined> {
  const marked = readMark(bytes);
  if (marked) return marked;
  const text = await readText(bytes);
  return text === undefined ? undefined : { kind: 'text', mediaType: 'text/plain', text };
}

/** The same for a file that comes in pieces, without its text. */
export function createKindProbe() {
  let head: Buffer = Buffer.alloc(0);
  /** What has not been decoded: the encoding is known by the first two bytes. */
  let pending: Buffer = Buffer.alloc(0);
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let isText = true;

  function decode(bytes: Buffer, stream: boolean): void {
    if (!isText) return;
    decoder ??= new TextDecoder(encodingOf(head), { fatal: true });
    try {
      isText = !binary.test(decoder.decode(bytes, { stream }));
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

/** An image or a PDF by its first bytes. */
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

function encodingOf(bytes: Buffer): string {
  return startsWith(bytes, 'fffe') ? 'utf-16le' : startsWith(bytes, 'feff') ? 'utf-16be' : 'utf-8';
}

const pieceBytes = 256 * 1024;

/** Other requests are served between two pieces: a large text takes a tenth of a second. */
async function readText(bytes: Buffer): Promise<string | undefined> {
  const decoder = new TextDecoder(encodingOf(bytes), { fatal: true });
  const pieces: string[] = [];
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const stream = at + pieceBytes < bytes.length;
      const piece = decoder.decode(bytes.subarray(at, at + pieceBytes), { stream });
      if (binary.test(piece)) return undefined;
      pieces.push(piece);
      if (stream) await setImmediate();
    }
  } catch {
    return undefined;
  }
  return pieces.join('');
}
