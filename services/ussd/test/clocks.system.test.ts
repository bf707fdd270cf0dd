// Two instances on one PostgreSQL, one of them on a machine whose clock is off.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTempDir, createTestDatabase, startProcess } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { registration, serviceCode, testKey } from './service-fixture.ts';

const main = new URL('../src/main.ts', import.meta.url).pathname;
/** Preloaded into a process whose machine's clock is to be off. */
const shiftClock = (shiftMs: number) =>
  `data:text/javascript,${encodeURIComponent(`
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      if (args.length === 0) super(RealDate.now() + ${shiftMs});
      else super(...args);
    }
    static now() {
      return RealDate.now() + ${shiftMs};
    }
  };
`)}`;
const phoneNumber = '+254700000001';

async function startInstance(env: Record<string, string>, shiftMs: number) {
  const preload = shiftMs === 0 ? [] : ['--import', shiftClock(shiftMs)];
  const running = startProcess(process.execPath, [...preload, main], {
    env: { PORT: '0', PIN_ENCRYPTION_KEY: testKey, ...env },
  });
  await running.printed(/listening on http:\S+/);
  const url = /listening on (http:[^\s"]+)/.exec(running.output())?.[1] ?? '';
  return {
    async say(sessionId: string, text: string): Promise<string> {
      const response = await fetch(`${url}/api/ussd`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ sessionId, serviceCode, phoneNumber, text }),
      });
      return response.text();
    },
    clock: async () => ((await (await fetch(`${url}/health`)).json()) as { clock?: string }).clock,
    async [Symbol.asyncDispose]() {
      running.kill('SIGTERM');
      await running.exited;
    },
  };
}

test.concurrent.each([200_000, -200_000])(
  'a machine whose clock is off by %d ms expires nobody, and locks for as long as the others do',
  async (shiftMs) => {
    await using database = await createTestDatabase('postgres');
    await using dir = await createTempDir();
    const env = { DATABASE_URL: database.url, DATA_DIR: dir.path, LOG_LEVEL: 'info' };
    await using right = await startInstance(env, 0);
    await using off = await startInstance(env, shiftMs);
    expect(await right.clock()).toBeUndefined();
    expect(await off.clock()).toMatch(
      shiftMs > 0 ? /^(199|200)\.\d s ahead of the database$/ : /^(199|200)\.\d s behind/,
    );
    expect(await right.say('a', '1')).toMatch(/^CON About/);
    expect(await off.say('a', '1*1')).toMatch(/^CON Palaver lets you/);
    expect(await right.say('a', '1*1*0')).toMatch(/^CON About/);
    expect(await off.say('b', '1')).toMatch(/^CON About/);
    expect(await right.say('b', '1*1')).toMatch(/^CON Palaver lets you/);
    // Longer than a sweep of either takes to come.
    await sleep(6_000);
    expect(await right.say('a', '1*1*0*1')).toMatch(/^CON Palaver lets you/);
    expect(await off.say('b', '1*1*0')).toMatch(/^CON About/);

    await right.say('r', registration);
    for (const [i, pin] of ['9990', '9991', '9992'].entries()) await off.say(`w${i}`, `2*2*${pin}`);
    expect(await right.say('c', '2*2*4071')).toContain('Try again in 5 min.');
  },
);
