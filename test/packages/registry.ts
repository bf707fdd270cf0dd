import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

interface Packed {
  name: string;
  version: string;
  manifest: object;
  tarball: Buffer;
}

/**
 * An npm registry on this machine with the tarballs of a folder, so that `npm install` and `npm create` find them by name and
 * version. Other packages are redirected to the registry that npm is configured with.
 */
export async function startRegistry(folder: string): Promise<{ url: string; close(): Promise<void> }> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  const packages = new Map(files.map((file) => readTarball(join(folder, file))).map((packed) => [packed.name, packed]));
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim().replace(/\/$/, '');
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/');
    const [name = '', file] = path.slice(1).split('/-/');
    const packed = packages.get(name);
    // The next run has other content under the same version.
    response.setHeader('cache-control', 'no-store');
    if (!packed) response.writeHead(302, { location: upstream + request.url }).end();
    else if (file) response.end(packed.tarball);
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(toPackument(packed, url)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async close() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

function readTarball(path: string): Packed {
  const text = execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' });
  const manifest = JSON.parse(text) as { name: string; version: string };
  return { name: manifest.name, version: manifest.version, manifest, tarball: readFileSync(path) };
}

function toPackument({ name, version, manifest, tarball }: Packed, url: string): object {
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const dist = { tarball: `${url}/${name}/-/${version}.tgz`, integrity };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
}
