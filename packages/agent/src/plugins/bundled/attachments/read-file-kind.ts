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

/** What a file is by its content, whatever it is called; undefined where it is nothing a model can read. */
export function readFileKind(bytes: Buffer): FileKind | undefined {
  const image = images.find(({ matches }) => matches(bytes));
  if (image) return { kind: 'image', mediaType: image.mediaType };
  // Readers take a PDF whose header comes a little late.
  if (bytes.subarray(0, 1024).includes('%PDF-')) return { kind: 'pdf', mediaType: 'application/pdf' };
  const text = readText(bytes);
  return text === undefined ? undefined : { kind: 'text', mediaType: 'text/plain', text };
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

function readText(bytes: Buffer): string | undefined {
  const encoding = startsWith(bytes, 'fffe') ? 'utf-16le' : startsWith(bytes, 'feff') ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what tells a binary file from a text.
    return /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}
