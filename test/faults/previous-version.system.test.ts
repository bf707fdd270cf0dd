// A rolling upgrade and the way back, by the previous version itself: its processes beside ours on one PostgreSQL.
import { createTempDir, createTestDatabase, freePort } from '@palaver/test-kit';
import { createInvocation, createSigner, parseSigner } from '@palaver/ucan';
import { expect, type TestContext, test } from 'vitest';
import { checkOutPrevious } from './previous-version.ts';
import { agentKey, createInstance, defaultEnv, type Instance, mainOf, root, type ServiceName } from './world.ts';

/** The previous version, which has created the schema, and this one, which is not running yet. */
async function createPair(opened: AsyncDisposableStack, service: ServiceName, skip: TestContext['skip']) {
  const previous = await checkOutPrevious(opened);
  if ('reason' in previous) return skip(previous.reason);
  const database = opened.use(await createTestDatabase('postgres'));
  const dir = opened.use(await createTempDir());
  const create = async (home: string): Promise<Instance> => {
    const env = { ...defaultEnv, DATA_DIR: dir.path, DATABASE_URL: database.url, PORT: String(await freePort()) };
    const instance = createInstance(mainOf(home, service), env);
    opened.defer(async () => {
      instance.kill('SIGKILL');
      await instance.exited();
    });
    return instance;
  };
  const [older, newer] = [await create(previous.otherRoot ?? ''), await create(root)];
  await older.start();
  return { older, newer };
}

test('a dialogue begun on the previous version continues on this one and back', { timeout: 180_000 }, async ({
  skip,
}) => {
  await using opened = new AsyncDisposableStack();
  const { older, newer } = await createPair(opened, 'ussd', skip);
  const say = async ({ url }: Instance, sessionId: string, text: string) => {
    const body = JSON.stringify({ sessionId, serviceCode: '*1234#', phoneNumber: '+254700000001', text });
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${url}/api/ussd`, { method: 'POST', headers, body })).text();
  };
  expect(await say(older, 'r', '2*1*Ana*4071*4071')).toContain('Your account is ready.');
  await say(older, 's', '');
  const question = await say(older, 's', '3*1');
  await newer.start();

  expect(await say(newer, 's', '3*1')).toBe(question);
  expect(await say(newer, 's', '3*1*12')).toContain('PIN');
  const filed = await say(older, 's', '3*1*12*4071');
  expect(filed).toMatch(/Reference: \w{9}/);
  expect(await say(newer, 's', '3*1*12*4071')).toBe(filed);

  await say(newer, 't', '3*2');
  expect(await say(older, 't', '3*2*5')).toContain('PIN');
  expect(await say(newer, 't', '3*2*5*4071')).toMatch(/Reference: \w{9}/);

  // The way back: it starts again on the schema that the new version has left.
  older.kill('SIGTERM');
  expect(await older.exited()).toBe(0);
  await older.start();
  newer.kill('SIGTERM');
  expect(await newer.exited()).toBe(0);
  expect(await say(older, 's', '3*1*12*4071')).toBe(filed);
  expect(await say(older, 'u', '3*2*6*4071')).toMatch(/Reference: \w{9}/);
});

test('a chat begun on the previous version continues on this one and back', { timeout: 180_000 }, async ({ skip }) => {
  await using opened = new AsyncDisposableStack();
  const { older, newer } = await createPair(opened, 'agent', skip);
  const agent = await parseSigner(agentKey);
  if (!agent.ok) throw new Error(agent.error.message);
  const capability = { can: 'oracle/chat', with: 'ixo:oracle' } as const;
  const issuer = await createSigner();
  const invocation = await createInvocation({ issuer, audience: agent.ok.did(), capability });
  const headers = {
    authorization: `Bearer ${invocation.serialized}`,
    'x-auth-type': 'ucan',
    'content-type': 'application/json',
  };
  const post = ({ url }: Instance, path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const { sessionId } = (await (await post(older, '/sessions', {})).json()) as { sessionId: string };
  const send = async (instance: Instance, message: string) => {
    const reply = await post(instance, `/messages/${sessionId}`, { message });
    return ((await reply.json()) as { message: { status: string } }).message.status;
  };
  const stream = (instance: Instance, message: string) =>
    post(instance, `/messages/${sessionId}`, { message, stream: true });
  const follow = async ({ url }: Instance, response: Response) =>
    (await fetch(`${url}/runs/${response.headers.get('x-run-id')}`, { headers })).text();
  const complete = /\nevent: done\nid: \d+\ndata: \{[^\n]*"status":"complete"[^\n]*\}\n\n$/;

  expect(await send(older, 'hello')).toBe('complete');
  await newer.start();
  for (const [owner, other] of [
    [older, newer],
    [newer, older],
  ] as const) {
    const response = await stream(owner, '/long 40');
    const [followed, waited] = await Promise.all([follow(other, response), send(other, 'hello')]);
    expect(followed).toMatch(complete);
    expect(await response.text()).toBe(followed);
    expect(waited).toBe('complete');
  }

  // The previous version dies in the middle of a turn: this one continues it. Then the way back.
  const interrupted = await stream(older, '/long 100');
  await interrupted.body?.getReader().read();
  older.kill('SIGKILL');
  const continued = await follow(newer, interrupted);
  expect(continued).toMatch(/word100.*/);
  expect(continued).toMatch(complete);
  await older.start();
  newer.kill('SIGTERM');
  expect(await newer.exited()).toBe(0);
  expect(await send(older, 'hello')).toBe('complete');
  const { messages } = (await (await fetch(`${older.url}/messages/${sessionId}`, { headers })).json()) as {
    messages: { type: string; status: string }[];
  };
  expect(messages.map(({ type, status }) => `${type} ${status}`)).toEqual(
    Array.from({ length: 14 }, (_, index) => (index % 2 === 0 ? 'human complete' : 'ai complete')),
  );
});
