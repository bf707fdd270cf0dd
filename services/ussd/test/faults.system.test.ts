import { rename } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '@palaver/store';
import { createTempDir, createTestDatabase, engines, startProcess, type TestProcess, waitFor } from '@palaver/test-kit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { anyRequest } from './any-request.ts';
import { registration, serviceCode, startService, testKey } from './service-fixture.ts';

test.each(engines)(
  'any body gives 200, 400, 413, 415 or 429, never a 5xx, and the service lives on: %s',
  async (engine) => {
    await using service = await startService(engine, { RATE_LIMIT_PER_MINUTE: '200' });
    let answered = 0;
    const seen = new Set<number>();
    const tooLong = { method: 'POST', headers: { 'content-type': 'application/json' }, body: 'x'.repeat(17_000) };
    expect((await fetch(`${service.url}/api/ussd`, tooLong)).status).toBe(413);
    await fc.assert(
      fc.asyncProperty(anyRequest(), async ({ path, type, body }) => {
        const headers = type === '' ? {} : { 'content-type': type };
        const response = await fetch(`${service.url}${path}`, { method: 'POST', headers, body });
        const reply = await response.text();
        seen.add(response.status);
        expect([200, 400, 413, 415, 429]).toContain(response.status);
        expect(reply).not.toContain('Service temporarily unavailable');
        if (response.status !== 200) return;
        const text = path === '/api/ussd' ? reply : toPlainReply(JSON.parse(reply) as ArkeselReply);
        expect(text).toMatch(/^(CON|END) ./);
        expect(Array.from(text.slice(4)).length).toBeLessThanOrEqual(182);
        if (text !== 'END Invalid input. Please try again.') answered++;
      }),
      { numRuns: 250 },
    );
    expect([...seen]).toEqual(expect.arrayContaining([200, 415]));
    // Bodies that only ever fail validation would prove little.
    expect(answered).toBeGreaterThan(40);
    expect((await service.get('/health')).status).toBe(200);
  },
);

interface ArkeselReply {
  message: string;
  continueSession: boolean;
}

const toPlainReply = ({ message, continueSession }: ArkeselReply) => `${continueSession ? 'CON' : 'END'} ${message}`;

const main = new URL('../src/main.ts', import.meta.url).pathname;

async function startUssdProcess(env: Record<string, string>): Promise<{ process: TestProcess; url: string }> {
  const process = startProcess(globalThis.process.execPath, [main], {
    env: { PORT: '0', PIN_ENCRYPTION_KEY: testKey, RATE_LIMIT_PER_MINUTE: '1000000', ...env },
  });
  await process.printed(/listening on http:\S+/);
  const url = /listening on (http:[^\s"]+)/.exec(process.output())?.[1] ?? '';
  return { process, url };
}

async function ask(url: string, sessionId: string, phoneNumber: string, text: string): Promise<string> {
  const body = JSON.stringify({ sessionId, serviceCode, phoneNumber, text });
  const response = await fetch(`${url}/api/ussd`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return response.text();
}

describe.each(engines)('killed in the middle of load, on %s', (engine) => {
  test('no confirmed effect is lost and none is doubled', async () => {
    await using database = await createTestDatabase(engine);
    await using dir = await createTempDir();
    const env = { DATABASE_URL: database.url, DATA_DIR: dir.path, LOG_LEVEL: 'info' };
    let running = await startUssdProcess(env);
    const phones = Array.from({ length: 6 }, (_, i) => `+25470000010${i}`);
    await Promise.all(phones.map((phone) => ask(running.url, `r${phone}`, phone, registration)));

    // Every phone files reports, one session each, as fast as they are answered; a failed request is sent again later,
    // as telecom gateways do.
    const confirmed = new Map<string, string>();
    const attempted = new Map<string, { session: string; phone: string; text: string }>();
    let stop = false;
    const callers = phones.map(async (phone, caller) => {
      for (let i = 0; !stop; i++) {
        const session = `s${caller}-${i}`;
        const text = `3*1*${i + 1}*4071`;
        attempted.set(session, { session, phone, text });
        const reply = await ask(running.url, session, phone, text).catch(() => '');
        const reference = /Reference: (\w{9})/.exec(reply)?.[1];
        if (reference) confirmed.set(session, reference);
        else if (reply === '') return;
      }
    });
    await waitFor('some confirmed reports', () => confirmed.size >= 12);
    running.process.kill('SIGKILL');
    await running.process.exited;
    stop = true;
    await Promise.all(callers);

    running = await startUssdProcess(env);
    for (const { session, phone, text } of attempted.values()) {
      const reference = /Reference: (\w{9})/.exec(await ask(running.url, session, phone, text))?.[1];
      expect(reference).toMatch(/^\w{9}$/);
      if (confirmed.has(session)) expect(reference).toBe(confirmed.get(session));
    }
    running.process.kill('SIGTERM');
    expect(await running.process.exited).toBe(0);
    const store = await openStore<UssdTables>(database.url);
    const reports = await store.db.selectFrom('ussd_record').select(['phone', 'fields']).execute();
    await store.close();
    expect(reports).toHaveLength(attempted.size);
    expect(new Set(reports.map(({ phone, fields }) => `${phone} ${JSON.parse(fields).amount}`)).size).toBe(
      attempted.size,
    );

    const log = running.process.output();
    expect(log).toContain('"audit":"PIN accepted"');
    // A request id may end with the same digits.
    expect(log).not.toMatch(/[^\da-f-]4071"/);
    for (const phone of phones) expect(log).not.toContain(phone);
  });
});

describe('the database going away', () => {
  const unavailable = 'END Service temporarily unavailable. Please try again later.';

  test('PostgreSQL: the reply of the specification, 503 on /health, and recovery without a restart', async () => {
    await using database = await createTestDatabase('postgres');
    await using proxy = await startProxy(new URL(database.url));
    await using service = await startService('sqlite', { DATABASE_URL: proxy.url });
    expect(await service.say('a', '')).toMatch(/^CON /);
    proxy.cut();
    expect(await service.say('a', '1')).toBe(unavailable);
    const health = await service.get('/health');
    expect([health.status, await health.json()]).toEqual([
      503,
      expect.objectContaining({ status: 'degraded', database: 'disconnected', uptime: expect.any(Number) }),
    ]);
    expect((await service.get('/metrics')).status).toBe(200);
    const reports = await service.get('/api/ussd/reports');
    expect([reports.status, await reports.json()]).toEqual([
      503,
      expect.objectContaining({ code: 'UNAVAILABLE', message: expect.stringContaining('database') }),
    ]);
    proxy.restore();
    await waitFor('recovery', async () => (await service.say('a', '1')).startsWith('CON About'));
    expect((await service.get('/health')).status).toBe(200);
  });

  test('SQLite: a file that vanished gets the same, and is in use again when it is back', async () => {
    await using service = await startService();
    await service.say('a', '');
    const path = service.databaseUrl.slice('file:'.length);
    await rename(path, `${path}.away`);
    // What is written now would be gone with the next start: neither an open session nor a new one is confirmed.
    expect(await service.say('a', '1')).toBe(unavailable);
    expect(await service.say('b', registration)).toBe(unavailable);
    const health = await service.get('/health');
    expect([health.status, await health.json()]).toEqual([503, expect.objectContaining({ database: 'disconnected' })]);
    await rename(`${path}.away`, path);
    expect((await service.get('/health')).status).toBe(200);
    expect(await service.say('a', '1')).toMatch(/^CON About/);
    expect(await service.say('b', registration)).toContain('Your account is ready.');
  });

  test('SQLite: a database that another process keeps locked gets the same, until it lets go', async () => {
    await using service = await startService();
    await service.say('a', '');
    const other = new DatabaseSync(service.databaseUrl.slice('file:'.length));
    other.exec('begin immediate');
    expect(await service.say('a', '1')).toBe(unavailable);
    other.close();
    expect(await service.say('a', '1')).toMatch(/^CON About/);
  });
});

/** A TCP proxy before PostgreSQL that can be cut and restored: the database goes away as a network does. */
async function startProxy(target: URL) {
  const { connect } = await import('node:net');
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
    }
    client.pipe(upstream).pipe(client);
    return client;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: Object.assign(new URL(target), { port: String(address.port) }).href,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    restore() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
