import { lookUpPrefix } from '@palaver/contract/internal';
import { afterEach, describe, expect, test } from 'vitest';
import { createServer } from './create-server.ts';
import { createLogger } from './logger.ts';
import { createRequestLog, type RecentError } from './request-log.ts';
import type { Server } from './server.ts';

function lineOf(request: { id: string; url: string; status?: number }, level = 'info'): string {
  const lines: string[] = [];
  const logger = createLogger({ name: 'test', level, destination: { write: (line: string) => void lines.push(line) } });
  const log = createRequestLog(logger);
  log({ method: 'GET', status: 200, ...request, elapsedMs: 1.26 });
  return lines.join('');
}

test('it has the form of every other line, without the query', () => {
  const line = lineOf({ id: 'a-1', url: '/api/x?pin=4821' });
  expect(line.endsWith('}\n')).toBe(true);
  expect(JSON.parse(line)).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    service: 'test',
    requestId: 'a-1',
    method: 'GET',
    path: '/api/x',
    status: 200,
    ms: 1.3,
    msg: 'request',
  });
});

test('what a client wrote is escaped and masked', () => {
  const { requestId, path } = JSON.parse(lineOf({ id: 'a"\\ Bearer abc.def', url: '/of/+254712345678/"x"' }));
  expect(requestId).toBe('a"\\ Bearer [hidden]');
  expect(path).toBe('/of/+25471234****/"x"');
  expect(lineOf({ id: 'x', url: 'http://me:hunter2@host/' })).not.toContain('hunter2');
});

test('above its level nothing is written', () => {
  expect(lineOf({ id: 'a', url: '/' }, 'warn')).toBe('');
});

test.each(['/health', '/ready', '/metrics'])(
  '%s that a monitor polls is logged only at debug, or when it fails',
  (url) => {
    expect(lineOf({ id: 'a', url })).toBe('');
    expect(JSON.parse(lineOf({ id: 'a', url }, 'debug'))).toMatchObject({ level: 'debug', path: url });
    expect(JSON.parse(lineOf({ id: 'a', url, status: 503 }))).toMatchObject({ level: 'info', status: 503 });
  },
);

describe('recent errors', () => {
  let server: Server;
  afterEach(() => server.close());

  async function start(destination?: { write(line: string): void }): Promise<void> {
    server = await createServer({
      name: 'test',
      logger: createLogger({
        name: 'test',
        level: destination ? 'info' : 'silent',
        ...(destination && { destination }),
      }),
      trustProxy: false,
      operatorToken: 'secret',
      bodyLimit: 1024,
      health: async () => ({ healthy: true, body: { status: 'ok' } }),
    });
    server.get('/broken', async () => {
      throw new Error('a secret detail');
    });
  }

  async function list(): Promise<RecentError[]> {
    const reply = await server.inject({ url: '/metrics/errors', headers: { authorization: 'Bearer secret' } });
    return (reply.json() as { errors: RecentError[] }).errors;
  }

  test('refusals and faults are kept by request id, newest first, without queries and details', async () => {
    await start();
    await server.inject({ url: '/nowhere?token=abc', headers: { 'x-request-id': 'first' } });
    await server.inject({ url: '/broken', headers: { 'x-request-id': 'second' } });
    await server.inject({ url: '/health' });
    const errors = await list();
    expect(errors.map(({ requestId }) => requestId).sort()).toEqual(['first', 'second']);
    expect(errors.find(({ requestId }) => requestId === 'first')).toMatchObject({
      method: 'GET',
      path: '/nowhere',
      status: 404,
      message: 'There is no GET /nowhere here.',
    });
    expect(errors.find(({ requestId }) => requestId === 'second')).toMatchObject({
      status: 500,
      code: 'INTERNAL_ERROR',
    });
    expect(JSON.stringify(errors)).not.toMatch(/abc|secret/);
  });

  test('phone numbers and tokens in a path are masked, as in the log', async () => {
    await start();
    await server.inject({ url: '/accounts/+254712345678/unlock' });
    await server.inject({ url: '/accounts/%2B254712345678/unlock' });
    const paths = (await list()).map(({ path }) => path);
    expect(paths.toSorted()).toEqual(['/accounts/%2B25471234****/unlock', '/accounts/+25471234****/unlock']);
  });

  test('the log lines of a failed request are found by its id, masked, by operators who may change things', async () => {
    await start({ write: () => {} });
    await server.inject({ url: '/broken', headers: { 'x-request-id': 'looked-for' } });
    await server.inject({ url: '/broken', headers: { 'x-request-id': 'another' } });
    const ask = (authorization: string) =>
      server.inject({ url: '/metrics/log?requestId=looked-for', headers: { authorization } });
    expect((await ask('Bearer wrong')).statusCode).toBe(401);
    const { lines } = (await ask('Bearer secret')).json() as {
      lines: { requestId: string; err: { message: string } }[];
    };
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 'error', requestId: 'looked-for', err: { message: 'a secret detail' } });
    // What was logged around a request may name the cause.
    const all = await server.inject({ url: '/metrics/log', headers: { authorization: 'Bearer secret' } });
    const ids = (all.json() as { lines: { requestId: string }[] }).lines.map(({ requestId }) => requestId);
    expect(ids.slice(-2)).toEqual(['looked-for', 'another']);
  });

  test('log lines belong to the request they are shown for, also where a client uses an id again', async () => {
    await start({ write: () => {} });
    const fail = () => server.inject({ url: '/broken', headers: { 'x-request-id': 'used-twice' } });
    await fail();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await fail();
    const errors = await list();
    expect(errors).toHaveLength(2);
    for (const { time } of errors) {
      const url = `/metrics/log?requestId=used-twice&time=${time}`;
      const reply = await server.inject({ url, headers: { authorization: 'Bearer secret' } });
      expect((reply.json() as { lines: unknown[] }).lines).toHaveLength(1);
    }
  });

  test('what the console looks up and does not find is no recent error; its faults are', async () => {
    await start();
    await server.inject({ url: '/nowhere', headers: { 'x-request-id': `${lookUpPrefix}1` } });
    await server.inject({ url: '/broken', headers: { 'x-request-id': `${lookUpPrefix}2` } });
    expect((await list()).map(({ requestId }) => requestId)).toEqual([`${lookUpPrefix}2`]);
  });

  test('only operators see them, and a flood of refusals leaves the faults in the list', async () => {
    await start();
    expect((await server.inject({ url: '/metrics/errors' })).statusCode).toBe(401);
    await server.inject({ url: '/broken', headers: { 'x-request-id': 'the-fault' } });
    for (let index = 0; index < 80; index += 1) await server.inject({ url: '/nowhere' });
    const errors = await list();
    expect(errors).toHaveLength(51);
    expect(errors.some(({ requestId }) => requestId === 'the-fault')).toBe(true);
  });
});
