import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createServer } from './create-server.ts';
import { createLogger } from './logger.ts';
import { hashOperatorToken, type OperatorRole } from './operators.ts';

async function start(options: { token?: string; file?: string } = {}) {
  const server = await createServer({
    name: 'test',
    logger: createLogger({ name: 'test', level: 'silent' }),
    trustProxy: false,
    operatorToken: options.token,
    operatorsFile: options.file,
    bodyLimit: 100,
    health: async () => ({ healthy: true, body: {} }),
  });
  server.get('/read', { onRequest: server.operatorGuard }, async ({ operator }) => operator);
  server.post('/change', { onRequest: server.operatorGuard }, async ({ operator }) => operator);
  server.post('/erase', { onRequest: server.operatorGuardFor('admin') }, async ({ operator }) => operator);
  const ask = async (method: 'GET' | 'POST', url: string, token?: string, remoteAddress = '127.0.0.1') => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const reply = await server.inject({ method, url, headers, remoteAddress });
    return { status: reply.statusCode, body: reply.json() as unknown };
  };
  const statuses = async (token?: string) => [
    (await ask('GET', '/read', token)).status,
    (await ask('POST', '/change', token)).status,
    (await ask('POST', '/erase', token)).status,
  ];
  return { server, ask, statuses, [Symbol.asyncDispose]: () => server.close() };
}

const toEntry = (name: string, role: OperatorRole) => ({
  name,
  role,
  sha256: hashOperatorToken(`token-of-${name}`),
  createdAt: '2026-01-01T00:00:00Z',
});

test('each role reaches its routes, under its name; the file is read again when it changes', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'operators.json');
  await using service = await start({ file, token: 'the-one-token' });
  const { ask, statuses } = service;
  expect(await statuses('token-of-ann')).toEqual([401, 401, 401]);
  await writeFile(
    file,
    JSON.stringify([toEntry('ann', 'viewer'), toEntry('ben', 'operator'), toEntry('cai', 'admin')]),
  );
  expect(await statuses('token-of-ann')).toEqual([200, 403, 403]);
  expect(await statuses('token-of-ben')).toEqual([200, 200, 403]);
  expect(await statuses('token-of-cai')).toEqual([200, 200, 200]);
  expect(await statuses('the-one-token')).toEqual([200, 200, 200]);
  expect((await ask('POST', '/change', 'token-of-ben')).body).toEqual({ name: 'ben', role: 'operator' });
  expect((await ask('GET', '/read', 'the-one-token')).body).toEqual({ name: 'token', role: 'admin' });
  expect(await statuses()).toEqual([401, 401, 401]);
  await writeFile(file, JSON.stringify([toEntry('ann', 'viewer')]));
  expect(await statuses('token-of-cai')).toEqual([401, 401, 401]);
});

test('this machine is trusted only while neither a token nor a named operator exists, also when the file breaks', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'operators.json');
  await using service = await start({ file });
  expect((await service.ask('POST', '/erase')).body).toEqual({ name: 'loopback', role: 'admin' });
  await writeFile(file, JSON.stringify([toEntry('ann', 'viewer')]));
  expect(await service.statuses()).toEqual([401, 401, 401]);
  await writeFile(file, '[{ "name": "ann"');
  expect(await service.statuses()).toEqual([401, 401, 401]);
  expect(await service.statuses('token-of-ann')).toEqual([401, 401, 401]);
  await rm(file);
  expect(await service.statuses()).toEqual([200, 200, 200]);
  await writeFile(file, 'nonsense');
  await chmod(file, 0o600);
  await expect(start({ file })).rejects.toThrow("operators' file");
});

test('wrong tokens are counted and limited for their address alone', async () => {
  await using service = await start({ token: 'the-one-token' });
  const from = async (address: string, token: string) => (await service.ask('GET', '/read', token, address)).status;
  for (let i = 0; i < 10; i += 1) expect(await from('192.0.2.1', `guess-${i}`)).toBe(401);
  expect(await from('192.0.2.1', 'guess')).toBe(429);
  expect(await from('192.0.2.1', 'the-one-token')).toBe(429);
  expect(await from('192.0.2.2', 'the-one-token')).toBe(200);
  expect(await service.server.metrics.metrics()).toMatch(/operator_tokens_refused_total\{service="test"\} 10\n/);
});

test('through a proxy on this machine, whoever guesses tokens blocks only themselves', async () => {
  await using service = await start({ token: 'the-one-token' });
  const from = async (addresses: string, token: string, remoteAddress = '127.0.0.1') => {
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': addresses };
    return (await service.server.inject({ url: '/read', headers, remoteAddress })).statusCode;
  };
  // The client itself writes what is left of the last address.
  for (let i = 0; i < 10; i += 1) expect(await from(`203.0.113.${i}, 192.0.2.1`, `guess-${i}`)).toBe(401);
  expect(await from('192.0.2.1', 'the-one-token')).toBe(429);
  expect(await from('192.0.2.2', 'the-one-token')).toBe(200);
  expect((await service.ask('GET', '/read', 'the-one-token')).status).toBe(200);
  // From elsewhere the header is anyone's word.
  for (let i = 0; i < 10; i += 1) expect(await from(`192.0.2.${i}`, `guess-${i}`, '198.51.100.7')).toBe(401);
  expect(await from('192.0.2.99', 'the-one-token', '198.51.100.7')).toBe(429);
});
