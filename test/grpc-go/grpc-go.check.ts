import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startProcess } from '@palaver/test-kit';
import { beforeAll, expect, type TestContext, test } from 'vitest';
import { createUpstream } from '../../services/gateway/src/upstream/upstream.ts';

const cwd = fileURLToPath(new URL('../../bench/gateway/go-front', import.meta.url));
const program = fileURLToPath(new URL('../../node_modules/.cache/palaver-bench/strict-node', import.meta.url));
const idleMs = 3 * 60_000;

beforeAll(() => {
  const { error, status, stderr } = spawnSync('go', ['build', '-o', program, './strict-node'], {
    cwd,
    encoding: 'utf8',
  });
  if (error) throw new Error('Go is not on the PATH', { cause: error });
  if (status !== 0) throw new Error(stderr);
});

async function connect({ onTestFinished }: TestContext, maxAge: string) {
  const node = startProcess(program, [maxAge]);
  onTestFinished(() => node.kill());
  await node.printed(/127\.0\.0\.1:\d+/);
  const upstream = createUpstream({ addresses: [node.output().trim()] });
  onTestFinished(() => upstream.close());
  const call = (method: string, timeoutMs = 20_000) =>
    upstream.call({ path: `/x.Query/${method}`, body: Buffer.from('hello'), metadata: {}, timeoutMs });
  const countConnections = async () => {
    const answer = await call('Connections');
    return answer.ok ? Number(answer.message.toString()) : Number.NaN;
  };
  return { call, countConnections };
}

test.concurrent('a connection that is idle for three minutes is not ended for its pings', async (context) => {
  const { call, countConnections } = await connect(context, '1h');
  expect(await call('Get')).toMatchObject({ ok: true });
  await sleep(idleMs);
  expect(await call('Get')).toMatchObject({ ok: true });
  expect(await countConnections()).toBe(1);
});

test.concurrent('calls that are silent for longer than a ping is waited for, one after another, keep their connection', async (context) => {
  const { call, countConnections } = await connect(context, '1h');
  for (let round = 0; round < 8; round += 1) expect(await call('Slow')).toMatchObject({ ok: true });
  expect(await countConnections()).toBe(1);
});

test.concurrent('no call fails on a server that ends each connection after two seconds', async (context) => {
  const { call, countConnections } = await connect(context, '2s');
  const until = Date.now() + 15_000;
  const failures: unknown[] = [];
  let answers = 0;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      while (Date.now() < until) {
        const answer = await call('Get');
        if (!answer.ok) failures.push(answer);
        answers += 1;
      }
    }),
  );
  expect(failures).toEqual([]);
  expect(answers).toBeGreaterThan(1_000);
  expect(await countConnections()).toBeGreaterThan(3);
});

test.concurrent('an error text of 200 KiB fails its own call and no other', async (context) => {
  const { call, countConnections } = await connect(context, '1h');
  const [long, ...others] = await Promise.all([call('Long'), ...Array.from({ length: 20 }, () => call('Get'))]);
  expect(long).toMatchObject({ ok: false, code: 13 });
  expect(others.filter(({ ok }) => !ok)).toEqual([]);
  expect(await countConnections()).toBe(1);
});
