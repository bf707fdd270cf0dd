import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';

export interface S3Server extends AsyncDisposable {
  /** For `FILES_S3_URL`. */
  url: string;
  objects: Map<string, Buffer>;
  refused: string[];
}

const bucket = '/bucket';
const accessKeyId = 'AKIA TEST';
const secretAccessKey = 'secret/with+signs=';

/** A bucket that takes only requests which Amazon's own signer would have signed the same way. */
export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const refused: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const reason = await findFault(request.method ?? '', pathname, request.headers as Record<string, string>, body);
    if (reason) {
      refused.push(`${request.method} ${reason}`);
      return response.writeHead(403).end();
    }
    if (request.method === 'PUT') objects.set(pathname, body);
    if (request.method === 'DELETE') objects.delete(pathname);
    const found = objects.get(pathname);
    if (request.method === 'GET') return response.writeHead(found ? 200 : 404).end(found);
    return response.writeHead(request.method === 'DELETE' ? 204 : 200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const login = `${encodeURIComponent(accessKeyId)}:${encodeURIComponent(secretAccessKey)}`;
  return {
    url: `http://${login}@127.0.0.1:${port}${bucket}?region=eu-test-1`,
    objects,
    refused,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function findFault(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<string | undefined> {
  if (!path.startsWith(`${bucket}/`)) return 'another bucket';
  if (method === 'PUT' && headers['content-length'] === undefined) return 'no length';
  const hash = createHash('sha256').update(body).digest('hex');
  if (method === 'PUT' && headers['x-amz-content-sha256'] !== hash) return 'another body';
  const given = headers.authorization ?? '';
  const names = /SignedHeaders=([^,]+)/.exec(given)?.[1]?.split(';') ?? [];
  const signer = new SignatureV4({
    service: 's3',
    region: 'eu-test-1',
    credentials: { accessKeyId, secretAccessKey },
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const signed = await signer.sign(
    {
      method,
      protocol: 'http:',
      hostname: '127.0.0.1',
      path,
      query: {},
      headers: Object.fromEntries(names.map((name) => [name, headers[name] ?? ''])),
    },
    { signingDate: toDate(headers['x-amz-date'] ?? ''), signableHeaders: new Set(names) },
  );
  const signatureOf = (text = '') => /Signature=(\w+)/.exec(text)?.[1];
  return signatureOf(signed.headers.authorization) === signatureOf(given) ? undefined : 'another signature';
}

function toDate(text: string): Date {
  return new Date(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}
