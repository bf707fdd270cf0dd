import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { gzipSync } from 'node:zlib';

export interface WebFile {
  body: Buffer;
  zipped: Buffer | undefined;
  type: string;
  etag: string;
  isImmutable: boolean;
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Every file of the built page by its path, held in memory: a page rebuilt beside a running server does not change under it. */
export function loadFiles(folder: string): Map<string, WebFile> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const path = `/${relative(folder, file).split(sep).join('/')}`;
      const body = readFileSync(file);
      const zipped = gzipSync(body);
      return [
        path,
        {
          body,
          zipped: zipped.length < body.length ? zipped : undefined,
          type: types[extname(path)] ?? 'application/octet-stream',
          etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
          isImmutable: path.startsWith('/assets/'),
        },
      ];
    }),
  );
}
