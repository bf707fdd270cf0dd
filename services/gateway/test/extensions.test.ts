import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startGateway } from '../src/main.ts';
import { startFixtureNode } from './fixture-node.ts';

const code = `
  export const matchHeader = (name) => (name === 'x-tenant' ? 'tenant' : name === 'x-bad' ? 'grpc-status' : undefined);
  export const writeError = (body) => {
    if (body.message.includes('fault')) throw new Error('mine');
    return { oops: body.reason };
  };
  export const interceptors = [
    (send) => (request, done) => send(request, (answer) => done({ ...answer, metadata: { ...answer.metadata, outer: '1' } })),
    (send) => (request, done) => {
      if (request.metadata.tenant !== 'blocked') return send(request, done);
      done({ ok: false, code: 7, message: 'not for you', metadata: {} });
      return () => undefined;
    },
  ];
`;

async function startExtended(module: string) {
  const node = await startFixtureNode();
  const dir = await createTempDir();
  const path = join(dir.path, 'extensions.mjs');
  await writeFile(path, module);
  const close = async () => {
    await dir[Symbol.asyncDispose]();
    node.close();
  };
  const env = { PORT: '0', LOG_LEVEL: 'silent', GATEWAY_UPSTREAMS: node.address, GATEWAY_EXTENSIONS: path };
  try {
    const gateway = await startGateway(env);
    const get = (path: string, headers: Record<string, string> = {}) => fetch(gateway.url + path, { headers });
    return { node, get, [Symbol.asyncDispose]: () => gateway.close().then(close) };
  } catch (error) {
    await close();
    throw error;
  }
}

test('an exception of matchHeader fails one request and not the process', async () => {
  await using gateway = await startExtended(
    "export const matchHeader = (name) => { if (name === 'x-odd') throw new Error('mine'); };",
  );
  expect((await gateway.get('/fixture/item/1', { 'x-odd': '1' })).status).toBe(500);
  expect((await gateway.get('/fixture/item/1')).status).toBe(200);
});

test('headers, errors and calls pass through the code of an operator', async () => {
  await using gateway = await startExtended(code);
  const answer = await gateway.get('/fixture/item/1', { 'x-tenant': 'a' });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('grpc-metadata-outer')).toBe('1');
  expect(gateway.node.calls.at(-1)?.metadata.get('tenant')).toEqual(['a']);

  const blocked = await gateway.get('/fixture/item/1', { 'x-tenant': 'blocked' });
  expect([blocked.status, await blocked.json()]).toEqual([403, { oops: 'PERMISSION_DENIED' }]);
  const unknown = await gateway.get('/nowhere');
  expect([unknown.status, await unknown.json()]).toEqual([404, { oops: 'NOT_FOUND' }]);
  // Names that belong to gRPC are refused as usual, and a writer that fails leaves the gateway's own body.
  const reserved = await gateway.get('/fixture/item/1', { 'x-bad': '0' });
  expect([reserved.status, await reserved.json()]).toEqual([400, { oops: 'BAD_REQUEST' }]);
  const failing = await gateway.get('/fault');
  expect([failing.status, await failing.json()]).toEqual([404, expect.objectContaining({ reason: 'NOT_FOUND' })]);
});

test('a module that exports nothing of use stops the start', async () => {
  await expect(startExtended('export const interceptor = []')).rejects.toThrow(
    /GATEWAY_EXTENSIONS=.*exports none of matchHeader, writeError, interceptors/,
  );
  await expect(startExtended('syntax error')).rejects.toThrow(/GATEWAY_EXTENSIONS=/);
});
