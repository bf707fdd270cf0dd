// What the A2A specification demands of every call, over plain JSON-RPC.
import { createTempDir } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBank, readPaid } from './bank-plugin.ts';
import { createGate } from './gate-plugin.ts';
import { request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const gate = createGate();
let dir: Awaited<ReturnType<typeof createTempDir>>;
let paidFile: string;
let agent: TestAgent;
let ana: TestUser;

beforeAll(async () => {
  dir = await createTempDir();
  paidFile = `${dir.path}/paid`;
  agent = await startTestAgent({ plugins: [gate.plugin, createBank(paidFile)] });
  ana = await agent.createUser();
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await dir[Symbol.asyncDispose]();
});

interface Sent {
  url?: string;
  user?: TestUser;
  path?: string;
  headers?: Record<string, string>;
}

const post = (body: string, { user = ana, url = agent.url, path = '/a2a', headers = {} }: Sent = {}) =>
  request(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${user.invocation}`, 'content-type': 'application/json', ...headers },
    body,
  });
const call = async (method: string, params?: object, sent?: Sent) =>
  (await post(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }), sent)).body;
const toMessage = (parts: object[], more: object = {}) => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts, ...more },
});
const send = async (text: string, more?: object, configuration?: object) =>
  (await call('SendMessage', { ...toMessage([{ text }], more), configuration })).result.task;
const reasonOf = ({ error }: { error: { code: number; data: { reason?: string }[] } }) => [
  error.code,
  error.data[0]?.reason,
];

/** The results of a stream one by one. */
async function* subscribe(id: string) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'SubscribeToTask', params: { id } });
  const headers = { authorization: `Bearer ${ana.invocation}`, 'content-type': 'application/json' };
  const response = await fetch(`${agent.url}/a2a`, { method: 'POST', headers, body });
  let rest = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) if (event.startsWith('data: ')) yield JSON.parse(event.slice('data: '.length)).result;
  }
}

describe('a message to a task', () => {
  const pay = async (contextId: string) => {
    const { id, status } = await send('/tool pay {"to":"ben","amount":50}', { contextId });
    const [, approvalId = ''] = /approve (\S+) or refuse/.exec(status.message.parts[0].text) ?? [];
    return { taskId: id, approve: [{ text: `approve ${approvalId}` }] };
  };

  test('is refused with the context of another task', async () => {
    const [first] = [await pay('orders'), await pay('other orders')];
    for (const contextId of ['other orders', 'unknown'])
      expect(await call('SendMessage', toMessage(first.approve, { taskId: first.taskId, contextId }))).toMatchObject({
        error: { code: -32602 },
      });
    expect(readPaid(paidFile)).toEqual([]);
    const { result } = await call(
      'SendMessage',
      toMessage(first.approve, { taskId: first.taskId, contextId: 'orders' }),
    );
    expect(result.task).toMatchObject({ contextId: 'orders', status: { state: 'TASK_STATE_COMPLETED' } });
    expect(readPaid(paidFile)).toEqual(['ben 50']);
  });
});

describe('the version', () => {
  test.each(['0.3', '0.5', '2.0', '99.0', 'one', ''])('%j is refused', async (version) => {
    for (const method of ['SendMessage', 'GetTask', 'Unknown'])
      expect(reasonOf(await call(method, { id: 'x' }, { headers: { 'a2a-version': version } }))).toEqual([
        -32009,
        'VERSION_NOT_SUPPORTED',
      ]);
    const query = `/a2a?A2A-Version=${version}`;
    expect(reasonOf(await call('GetTask', { id: 'x' }, { path: query }))).toEqual([-32009, 'VERSION_NOT_SUPPORTED']);
  });

  test.each(['1.0', '1.0.3'])('%s is accepted', async (version) => {
    const { result } = await call('SendMessage', toMessage([{ text: 'hello' }]), {
      headers: { 'a2a-version': version },
    });
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('of a call without one is that of its method', async () => {
    expect(reasonOf(await call('message/send', {}))).toEqual([-32009, 'VERSION_NOT_SUPPORTED']);
    expect((await call('SendMessage', toMessage([{ text: 'hello' }]))).result.task.id).toBeTypeOf('string');
  });
});

describe('a subscription', () => {
  test('to a task that has ended is refused', async () => {
    const { id } = await send('hello');
    expect(reasonOf(await call('SubscribeToTask', { id }))).toEqual([-32004, 'UNSUPPORTED_OPERATION']);
  });

  test('begins with the task as it is now and continues from there', async () => {
    const { id } = await send('/tool pay {"to":"ben","amount":50}', { contextId: 'watched' });
    const events = subscribe(id);
    expect((await events.next()).value.task).toMatchObject({
      id,
      contextId: 'watched',
      status: { state: 'TASK_STATE_INPUT_REQUIRED' },
    });
    expect((await call('CancelTask', { id })).result.status.state).toBe('TASK_STATE_CANCELED');
    const states: string[] = [];
    for await (const { statusUpdate } of events) states.push(statusUpdate?.status.state);
    expect(states).toEqual(['TASK_STATE_CANCELED']);
  });

  test('has what was said before in the task, and what comes later once', async () => {
    const { id } = await send('/long 30', {}, { returnImmediately: true });
    let text = '';
    let isFirst = true;
    for await (const { task, artifactUpdate } of subscribe(id)) {
      expect(task !== undefined).toBe(isFirst);
      isFirst = false;
      const { artifact, append = true } = artifactUpdate ?? { artifact: task?.artifacts?.[0] };
      expect(append).toBe(text !== '' || !artifactUpdate);
      text += artifact?.parts[0].text ?? '';
    }
    expect(text).toBe(Array.from({ length: 30 }, (_, index) => `word${index + 1}`).join(' '));
  });
});

test('push notifications are not supported, whichever way they are asked for', async () => {
  const { id } = await send('hello');
  const push = { url: 'https://example.org/hook' };
  for (const method of ['Create', 'Get', 'Delete'])
    expect(reasonOf(await call(`${method}TaskPushNotificationConfig`, { taskId: id, id: 'x', ...push }))).toEqual([
      -32003,
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
    ]);
  expect(reasonOf(await call('ListTaskPushNotificationConfigs', { taskId: id }))[0]).toBe(-32003);
  const configuration = { taskPushNotificationConfig: push };
  for (const method of ['SendMessage', 'SendStreamingMessage'])
    expect(reasonOf(await call(method, { ...toMessage([{ text: 'hello' }]), configuration }))[0]).toBe(-32003);
});

test('there is no extended card', async () => {
  expect(reasonOf(await call('GetExtendedAgentCard'))).toEqual([-32004, 'UNSUPPORTED_OPERATION']);
});

describe('parts that are not text', () => {
  const file = { raw: 'dGNr', mediaType: 'application/pdf', filename: 'a.pdf' };
  test.each([
    ['a file', [file]],
    ['a file beside a text', [{ text: 'read this' }, file]],
    ['an address', [{ text: 'read this' }, { url: 'https://example.org/a.png' }]],
    ['data', [{ text: 'read this' }, { data: { a: 1 } }]],
    ['a text of another type', [{ text: '%PDF', mediaType: 'application/pdf' }]],
  ])('%s: refused, and nothing begins', async (_name, parts) => {
    const before = (await ana.send('GET', '/sessions')).body.total;
    for (const method of ['SendMessage', 'SendStreamingMessage'])
      expect(reasonOf(await call(method, toMessage(parts)))).toEqual([-32005, 'CONTENT_TYPE_NOT_SUPPORTED']);
    expect((await ana.send('GET', '/sessions')).body.total).toBe(before);
  });

  test('a file beside an answer: refused', async () => {
    const { id } = await send('/tool pay {"to":"ben","amount":50}');
    const answer = await call('SendMessage', toMessage([{ text: 'approve x' }, file], { taskId: id }));
    expect(reasonOf(answer)).toEqual([-32005, 'CONTENT_TYPE_NOT_SUPPORTED']);
  });
});

describe('a fault', () => {
  test('of an unknown task says so', async () => {
    const ben = await agent.createUser();
    const { id } = await send('hello');
    const unknown = '019a0000-0000-7000-8000-000000000000';
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask'])
      for (const [taskId, user] of [
        [unknown, ana],
        ['no uuid', ana],
        [id, ben],
      ] as const)
        expect(reasonOf(await call(method, { id: taskId }, { user }))).toEqual([-32001, 'TASK_NOT_FOUND']);
    expect(reasonOf(await call('SendMessage', toMessage([{ text: 'hi' }], { taskId: unknown })))).toEqual([
      -32001,
      'TASK_NOT_FOUND',
    ]);
  });

  test('of a task that has ended says that it cannot be cancelled', async () => {
    const { id } = await send('hello');
    expect(reasonOf(await call('CancelTask', { id }))).toEqual([-32002, 'TASK_NOT_CANCELABLE']);
  });

  test('of the JSON itself is -32700', async () => {
    for (const body of ['{', '{"jsonrpc":"2.0",', 'hello'])
      expect((await post(body)).body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32700 } });
  });

  test.each([
    ['{"jsonrpc":"1.0","id":3,"method":"GetTask"}', 3],
    ['{"jsonrpc":"2.0","id":"a"}', 'a'],
    ['{"jsonrpc":"2.0","id":{},"method":"GetTask"}', null],
    ['[]', null],
    ['[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', null],
    ['null', null],
    ['1', null],
    ['', null],
  ])('of the request %s is -32600', async (body, id) => {
    expect((await post(body)).body).toMatchObject({ jsonrpc: '2.0', id, error: { code: -32600 } });
  });

  test('of the method is -32601, of its parameters -32602', async () => {
    expect((await call('Nothing')).error.code).toBe(-32601);
    for (const params of [undefined, {}, { id: 1 }, []])
      expect((await call('GetTask', params)).error.code).toBe(-32602);
    for (const params of [{}, toMessage([]), toMessage([{}]), { message: { parts: [{ text: 'no id' }] } }])
      expect((await call('SendMessage', params)).error.code).toBe(-32602);
  });

  test('of the content type is -32005', async () => {
    const { status, body } = await post('{}', { headers: { 'content-type': 'text/plain' } });
    expect({ status, code: body.error.code }).toEqual({ status: 415, code: -32005 });
  });
});

describe('a task', () => {
  test('has the context that its client named, and the same time whenever it is read', async () => {
    const { id, contextId, status } = await send('hello', { contextId: 'my own context' });
    expect(contextId).toBe('my own context');
    const read = async () => (await call('GetTask', { id })).result;
    const first = await read();
    expect(first).toMatchObject({ id, contextId, status });
    expect((await read()).status).toEqual(first.status);
    const cancelled = await send('/tool gate {}', { contextId }, { returnImmediately: true });
    await gate.reached();
    const ended = (await call('CancelTask', { id: cancelled.id })).result;
    expect(ended.contextId).toBe(contextId);
    expect((await call('GetTask', { id: cancelled.id })).result.status).toEqual(ended.status);
  });

  test('has its question as its history, as far as it is asked for', async () => {
    const { id } = await send('hello there');
    const { result } = await call('GetTask', { id, historyLength: 5 });
    expect(result.history).toMatchObject([{ role: 'ROLE_USER', parts: [{ text: 'hello there' }], taskId: id }]);
    for (const none of [{ historyLength: 0 }, { history_length: 0 }])
      expect((await call('GetTask', { id, ...none })).result).not.toHaveProperty('history');
  });
});

describe('the list of tasks', () => {
  test.each(['sqlite', 'postgres'] as const)(
    'has those of its user, newest first, page by page: %s',
    async (engine) => {
      await using other = await startTestAgent({ engine, plugins: [createBank(paidFile)] });
      const user = await other.createUser();
      const { url } = other;
      const own = async (text: string, contextId: string) =>
        (await call('SendMessage', toMessage([{ text }], { contextId }), { user, url })).result.task;
      const list = async (params: object) => (await call('ListTasks', params, { user, url })).result;
      expect(await list({})).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
      const ids: string[] = [];
      for (const context of ['a', 'b', 'a', 'b', 'a']) ids.unshift((await own('hello', context)).id);
      const waiting = await own('/tool pay {"to":"ben","amount":50}', 'w');
      ids.unshift(waiting.id);

      const all = await list({});
      expect(all).toMatchObject({ nextPageToken: '', pageSize: 50, totalSize: 6 });
      expect(all.tasks.map(({ id }: { id: string }) => id)).toEqual(ids);
      for (const task of all.tasks) {
        expect(task).not.toHaveProperty('artifacts');
        expect(task.status).toEqual((await call('GetTask', { id: task.id }, { user, url })).result.status);
      }
      const times = all.tasks.map(({ status }: { status: { timestamp: string } }) => status.timestamp);
      expect(times).toEqual([...times].sort().reverse());

      const pages: string[] = [];
      for (let pageToken = ''; ; ) {
        const page = await list({ pageSize: 4, pageToken });
        expect(page).toMatchObject({ pageSize: 4, totalSize: 6 });
        pages.push(...page.tasks.map(({ id }: { id: string }) => id));
        pageToken = page.nextPageToken;
        if (pageToken === '') break;
      }
      expect(pages).toEqual(ids);

      const ofContext = await list({ contextId: 'a', includeArtifacts: true });
      expect(ofContext.totalSize).toBe(3);
      for (const task of ofContext.tasks) {
        expect(task.contextId).toBe('a');
        expect(task.artifacts[0].parts[0].text).toContain('No language model');
      }
      expect((await list({ contextId: 'unknown' })).totalSize).toBe(0);
      const open = await list({ status: 'TASK_STATE_INPUT_REQUIRED' });
      expect(open.tasks.map(({ id }: { id: string }) => id)).toEqual([waiting.id]);
      expect((await list({ status: 'TASK_STATE_COMPLETED' })).totalSize).toBe(5);
      expect((await list({ status: 'TASK_STATE_REJECTED' })).totalSize).toBe(0);
      const since = await list({ statusTimestampAfter: waiting.status.timestamp });
      expect(since.tasks.map(({ id }: { id: string }) => id)).toEqual([waiting.id]);
      const stranger = await other.createUser();
      expect((await call('ListTasks', {}, { user: stranger, url })).result.totalSize).toBe(0);
    },
  );

  test('a page of long answers has fewer of them, and is made as it is read', async () => {
    const user = await agent.createUser();
    const ids: string[] = [];
    for (let count = 0; count < 12; count += 1) {
      const message = { messageId: `m${count}`, role: 'ROLE_USER', parts: [{ text: `${'y'.repeat(31_000)}${count}` }] };
      ids.unshift((await call('SendMessage', { message }, { user })).result.task.id);
    }
    const pages: string[][] = [];
    for (let pageToken = ''; ; ) {
      const { result } = await call('ListTasks', { includeArtifacts: true, historyLength: 1, pageToken }, { user });
      expect(JSON.stringify(result).length).toBeLessThan(400_000);
      pages.push(result.tasks.map(({ id }: { id: string }) => id));
      pageToken = result.nextPageToken;
      if (pageToken === '') break;
    }
    expect(pages.flat()).toEqual(ids);
    expect(pages.length).toBeGreaterThan(1);
  });

  test.each([
    { pageSize: 0 },
    { pageSize: 101 },
    { pageSize: 1.5 },
    { pageToken: 'nonsense' },
    { status: 'DONE' },
    { statusTimestampAfter: 'yesterday' },
    { historyLength: -1 },
  ])('refuses %j', async (params) => {
    expect((await call('ListTasks', params)).error.code).toBe(-32602);
  });
});

test('the card can be cached and is not sent again unchanged', async () => {
  const url = `${agent.url}/.well-known/agent-card.json`;
  const { headers } = await request(url);
  const etag = headers.get('etag') ?? '';
  expect(etag).toMatch(/^"[\w-]+"$/);
  expect(headers.get('cache-control')).toMatch(/max-age=[1-9]/);
  for (const known of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
    const again = await request(url, { headers: { 'if-none-match': known } });
    expect({ status: again.status, body: again.body, etag: again.headers.get('etag') }).toEqual({
      status: 304,
      body: '',
      etag,
    });
  }
  expect((await request(url, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
});

test('the route is found with a slash at its end', async () => {
  expect((await call('GetTask', { id: 'x' }, { path: '/a2a/' })).error.code).toBe(-32001);
  expect((await request(`${agent.url}/a2a/`, { method: 'POST' })).status).toBe(401);
});
