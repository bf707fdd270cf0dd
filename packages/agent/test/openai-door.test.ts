// The unmodified client of OpenAI, given only an address and a key.
import { waitFor } from '@palaver/test-kit';
import { loadClient } from '@palaver/test-kit/install-tools';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGate } from './gate-plugin.ts';
import { delegate, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const gate = createGate();
let agent: TestAgent;
let ana: TestUser;
// biome-ignore lint/suspicious/noExplicitAny: the package is not there when types are checked.
let client: any;
// biome-ignore lint/suspicious/noExplicitAny: likewise.
let OpenAI: any;

beforeAll(async () => {
  ({ OpenAI } = await loadClient('openai'));
  agent = await startTestAgent({ plugins: [gate.plugin] });
  ana = await agent.createUser();
  // A delegation that may sign in is what people paste as a key.
  const apiKey = await delegate(ana.signer, agent.did, { lifetimeSeconds: 20 * 86_400 });
  client = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey, maxRetries: 0 });
});
afterAll(() => agent[Symbol.asyncDispose]());

const user = (content: string) => ({ role: 'user', content });
const thermometer = {
  name: 'read_thermometer',
  description: 'The temperature of a room.',
  parameters: { type: 'object', properties: { room: { type: 'string' } } },
};
const sessionsOf = async () => (await ana.send('GET', '/sessions')).body.total;
const collect = async (stream: AsyncIterable<unknown>) => {
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect.
  const all: any[] = [];
  for await (const one of stream) all.push(one);
  return all;
};

test('models, and a chat completion with the conversation in the request', async () => {
  const { data } = await client.models.list();
  expect(data).toMatchObject([{ id: 'offline', object: 'model' }]);
  const messages = [
    { role: 'system', content: 'Be kind.' },
    user('hi'),
    { role: 'assistant', content: 'Hello.' },
    user('/long 3'),
  ];
  const { data: completion, response } = await client.chat.completions
    .create({ model: 'offline', messages })
    .withResponse();
  expect(completion).toMatchObject({
    object: 'chat.completion',
    model: 'offline',
    choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'word1 word2 word3' } }],
    usage: { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) },
  });
  expect(completion.usage.total_tokens).toBeGreaterThan(2);
  expect(response.headers.get('x-request-id')).toMatch(/./);
  expect(await sessionsOf()).toBe(0);
});

test('a streamed chat completion with usage', async () => {
  const stream = await client.chat.completions.create({
    model: 'offline',
    messages: [user('/long 5')],
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = await collect(stream);
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('word1 word2 word3 word4 word5');
  expect(chunks.at(-2).choices[0].finish_reason).toBe('stop');
  expect(chunks.at(-1).usage.completion_tokens).toBeGreaterThan(0);
  await waitFor('the session to be gone', async () => (await sessionsOf()) === 0);
});

test("tools of the caller: the client's own loop runs them; tools of the agent stay on the server", async () => {
  const tools = [
    {
      type: 'function',
      function: {
        ...thermometer,
        parse: JSON.parse,
        function: ({ room }: { room: string }) => ({ room, celsius: 21 }),
      },
    },
  ];
  for (const stream of [false, true]) {
    const runner = client.chat.completions.runTools({
      model: 'offline',
      stream,
      messages: [user('/tool read_thermometer {"room":"kitchen"}')],
      tools,
    });
    expect(await runner.finalContent()).toBe('read_thermometer: {"room":"kitchen","celsius":21}');
  }
  const own = await client.chat.completions.create({
    model: 'offline',
    messages: [user('/tool set_user_preferences {"userName":"Ana"}')],
    tools: [{ type: 'function', function: thermometer }],
  });
  expect(own.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: expect.any(String) } });
  expect(own.choices[0].message.tool_calls).toBeUndefined();
});

test('responses: retrieved and cancelled by their id', async () => {
  const created = await client.responses.create({ model: 'offline', input: 'call me Ana' });
  const read = await client.responses.retrieve(created.id);
  expect(read).toMatchObject({ id: created.id, status: 'completed', output: created.output, usage: created.usage });
  expect((await client.responses.cancel(created.id)).status).toBe('completed');
  const stream = await client.responses.create({ model: 'offline', input: '/tool gate {}', stream: true });
  const { value: first } = await stream[Symbol.asyncIterator]().next();
  expect((await client.responses.retrieve(first.response.id)).status).toBe('in_progress');
  expect((await client.responses.cancel(first.response.id)).status).toBe('cancelled');
  const ben = await agent.createUser();
  const apiKey = await delegate(ben.signer, agent.did, { lifetimeSeconds: 86_400 });
  const other = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey, maxRetries: 0 });
  for (const call of ['retrieve', 'cancel'])
    await expect(other.responses[call](created.id)).rejects.toMatchObject({ status: 404, code: 'run_not_found' });
});

test('responses: text, tools of the caller by previous_response_id, and no branches', async () => {
  const first = await client.responses.create({ model: 'offline', input: 'call me Ana' });
  expect(first).toMatchObject({ object: 'response', status: 'completed', usage: { total_tokens: expect.any(Number) } });
  const second = await client.responses.create({
    model: 'offline',
    previous_response_id: first.id,
    input: '/tool read_thermometer {"room":"kitchen"}',
    tools: [{ type: 'function', strict: false, ...thermometer }],
  });
  expect(second.output).toMatchObject([
    { type: 'function_call', name: 'read_thermometer', arguments: '{"room":"kitchen"}' },
  ]);
  const output = { type: 'function_call_output', call_id: second.output[0].call_id, output: '{"celsius":21}' };
  const third = await client.responses.create({ model: 'offline', previous_response_id: second.id, input: [output] });
  expect(third.output_text).toBe('read_thermometer: {"celsius":21}');
  const branch = client.responses.create({ model: 'offline', previous_response_id: first.id, input: 'hello' });
  await expect(branch).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
  const ben = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: (await agent.createUser()).invocation, maxRetries: 0 });
  const stolen = ben.responses.create({ model: 'offline', previous_response_id: third.id, input: 'hello' });
  await expect(stolen).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
});

test('a streamed response, as the client puts it together', async () => {
  const stream = client.responses.stream({
    model: 'offline',
    input: '/long 4',
    instructions: 'Be kind.',
    store: false,
  });
  const types = (await collect(stream)).map(({ type }) => type);
  expect(types.slice(0, 4)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
  ]);
  expect(types.at(-1)).toBe('response.completed');
  expect((await stream.finalResponse()).output_text).toBe('word1 word2 word3 word4');
  const call = client.responses.stream({
    model: 'offline',
    input: '/tool read_thermometer {"room":"attic"}',
    tools: [{ type: 'function', strict: false, ...thermometer }],
  });
  expect((await call.finalResponse()).output).toMatchObject([{ type: 'function_call', arguments: '{"room":"attic"}' }]);
});

const herd = {
  type: 'object',
  properties: { goats: { type: 'integer' }, colour: { enum: ['black', 'white'] } },
  required: ['goats', 'colour'],
};

test('an answer in the form of a schema, by both APIs', async () => {
  const completion = await client.chat.completions.create({
    model: 'offline',
    messages: [user('12 white goats')],
    response_format: { type: 'json_schema', json_schema: { name: 'herd', schema: herd, strict: true } },
  });
  expect(JSON.parse(completion.choices[0].message.content)).toEqual({ goats: 12, colour: 'white' });
  const format = { type: 'json_schema', name: 'herd', schema: herd, strict: true };
  const response = await client.responses.create({ model: 'offline', input: '3 black goats', text: { format } });
  expect(JSON.parse(response.output_text)).toEqual({ goats: 3, colour: 'black' });
});

test('the tool that has to be called is called', async () => {
  const tools = [{ type: 'function', function: thermometer }];
  for (const choice of ['required', { type: 'function', function: { name: thermometer.name } }]) {
    const request = { model: 'offline', messages: [user('kitchen')], tools, tool_choice: choice };
    const { choices } = await client.chat.completions.create(request);
    expect(choices[0].message.tool_calls).toMatchObject([{ function: { name: thermometer.name } }]);
  }
});

test('where any tool has to be called, it is one of the caller, whatever tools the agent has', async () => {
  const other = { type: 'function', function: { ...thermometer, name: 'other' } };
  const tools = [{ type: 'function', function: thermometer }, other];
  const ask = async (messages: object[]) =>
    (await client.chat.completions.create({ model: 'offline', messages, tools, tool_choice: 'required' })).choices[0]
      .message;
  const first = await ask([user('kitchen')]);
  expect(first.tool_calls).toMatchObject([{ function: { name: thermometer.name } }]);
  const [call] = first.tool_calls;
  const second = await ask([user('kitchen'), first, { role: 'tool', tool_call_id: call.id, content: '21' }]);
  expect(second.tool_calls).toMatchObject([{ function: { name: 'other' } }]);
});

test("errors are the client's own classes, and leave no session behind", async () => {
  const sessions = await sessionsOf();
  const bad = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: 'nonsense', maxRetries: 0 });
  await expect(bad.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  const create = (more: object) =>
    client.chat.completions.create({ model: 'offline', messages: [user('hi')], ...more });
  await expect(create({ model: 'gpt-9' })).rejects.toMatchObject({ code: 'model_not_found' });
  await expect(create({ messages: [] })).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  await expect(create({ n: 2 })).rejects.toMatchObject({ param: 'n' });
  const absent = { type: 'function', function: { name: 'absent' } };
  await expect(create({ tool_choice: absent })).rejects.toMatchObject({ param: 'tool_choice' });
  const sound = { type: 'input_audio', input_audio: { data: '', format: 'wav' } };
  await expect(create({ messages: [{ role: 'user', content: [sound] }] })).rejects.toMatchObject({
    param: 'messages.0.content',
  });
  const respond = (more: object) => client.responses.create({ model: 'offline', input: 'hi', ...more });
  const format = { type: 'grammar' };
  await expect(respond({ text: { format } })).rejects.toMatchObject({ param: 'text.format' });
  await expect(respond({ conversation: 'conv_1' })).rejects.toMatchObject({ param: 'conversation' });
  expect(await sessionsOf()).toBe(sessions);
});

test('closing the connection stops the run', async () => {
  const sessions = await sessionsOf();
  const stream = await client.chat.completions.create({
    model: 'offline',
    messages: [user('/tool gate {}')],
    stream: true,
  });
  await gate.reached();
  stream.controller.abort();
  await waitFor('the run to be stopped', () => gate.waiting() === 0);
  await waitFor('its session to be gone', async () => (await sessionsOf()) === sessions);
});

test('results of tools that are nested too deep, or named like what every object has, are only texts', async () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const ask = (name: string, args: string, content: string) =>
    client.chat.completions.create({
      model: 'offline',
      messages: [
        user('hi'),
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'a', type: 'function', function: { name, arguments: args } }],
        },
        { role: 'tool', tool_call_id: 'a', content },
      ],
    });
  // Larger than what a conversation may bring along, but not a fault of the service.
  for (const [args, content] of [
    [`{"a":${deep}}`, ''],
    ['{}', deep],
  ] as const)
    expect(await ask('read_thermometer', args, content).catch(({ status }: { status: number }) => status)).not.toBe(
      500,
    );
  for (const name of ['__proto__', 'constructor', 'toString'])
    expect((await ask(name, '{"__proto__":{"a":1}}', '{"__proto__":{"b":1}}')).choices[0].finish_reason).toBe('stop');
  expect({}).not.toHaveProperty('b');
});

test('an unknown model and a route that is not offered are errors of OpenAI with status 404', async () => {
  const isUnknown = { status: 404, type: 'invalid_request_error', param: 'model', code: 'model_not_found' };
  for (const model of ['gpt-9', '']) {
    await expect(client.chat.completions.create({ model, messages: [user('hi')] })).rejects.toMatchObject(isUnknown);
    await expect(client.responses.create({ model, input: 'hi' })).rejects.toMatchObject(isUnknown);
  }
  await expect(client.models.retrieve('gpt-9')).rejects.toMatchObject(isUnknown);
  expect(await client.models.retrieve('offline')).toMatchObject({ id: 'offline', object: 'model' });
  const isAbsent = { status: 404, type: 'invalid_request_error', param: null, code: 'unknown_url' };
  const file = new File(['x'], 'x.txt');
  for (const call of [
    () => client.embeddings.create({ model: 'offline', input: 'hi' }),
    () => client.images.generate({ prompt: 'a goat' }),
    () => client.files.create({ file, purpose: 'batch' }),
    () => client.models.delete('offline'),
    () => client.responses.delete('resp_1'),
  ])
    await expect(call()).rejects.toMatchObject(isAbsent);
  const preflight = { origin: 'https://page.example', 'access-control-request-method': 'POST' };
  const allowed = await fetch(`${agent.url}/v1/embeddings`, { method: 'OPTIONS', headers: preflight });
  expect(allowed.headers.get('access-control-allow-origin')).toBe('*');
});
