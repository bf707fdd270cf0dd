import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createServer } from './create-server.ts';
import { createLogger } from './logger.ts';
import { openEventStream } from './replies.ts';
import { listen } from './run-service.ts';

test('a stream counts by the time to its first byte, however long it lasts', async () => {
  const server = await createServer({
    name: 'test',
    logger: createLogger({ name: 'test', level: 'silent' }),
    trustProxy: false,
    operatorToken: undefined,
    bodyLimit: 1024,
    health: async () => ({ healthy: true, body: { status: 'ok' } }),
  });
  let lasted = 0;
  server.get('/stream', async (_request, reply) => {
    const stream = openEventStream(reply, { heartbeatMs: 60_000 });
    const begun = performance.now();
    await sleep(100);
    lasted = performance.now() - begun;
    stream?.end();
  });
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  try {
    const asked = performance.now();
    await (await fetch(`${url}/stream`)).text();
    const whole = performance.now() - asked;
    const text = await (await fetch(`${url}/metrics`)).text();
    const [, sum = ''] = /http_request_duration_seconds_sum\{[^}]*route="\/stream"[^}]*\} (\S+)/.exec(text) ?? [];
    expect(Number(sum) * 1000).toBeLessThanOrEqual(whole - lasted);
  } finally {
    await server.close();
  }
});
