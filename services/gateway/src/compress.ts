import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type ContentEncoding = 'br' | 'gzip';

/** Smaller bodies grow, or fit into one packet anyway. */
const minBytes = 1024;

const compressors: Record<ContentEncoding, (body: Buffer) => Promise<Buffer>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body) => promisify(gzip)(body, { level: 5 }),
};

/** The encoding for a body by a request's `Accept-Encoding`; undefined for an uncompressed body. */
export function chooseEncoding(accepted: string | undefined, body: Buffer): ContentEncoding | undefined {
  if (accepted === undefined || body.length <= minBytes) return undefined;
  const wanted = new Set<string>();
  for (const item of accepted.toLowerCase().split(',')) {
    const [name = '', ...params] = item.split(';').map((part) => part.trim());
    if (!params.some((param) => /^q=0(?:\.0*)?$/.test(param))) wanted.add(name);
  }
  if (wanted.has('br')) return 'br';
  return wanted.has('gzip') ? 'gzip' : undefined;
}

/** Compressed forms of bodies, made once for each body that is kept. */
const made = new WeakMap<Buffer, Partial<Record<ContentEncoding, Promise<Buffer>>>>();

export function compress(body: Buffer, encoding: ContentEncoding): Promise<Buffer> {
  const forms = made.get(body) ?? {};
  made.set(body, forms);
  forms[encoding] ??= compressors[encoding](body);
  return forms[encoding];
}

/** The tag of a compressed form: bytes that differ have tags that differ. */
export function toEncodedTag(etag: string, encoding: ContentEncoding): string {
  return etag.replace(/"$/, `-${encoding}"`);
}
