import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgentProcess, startAgentProcess } from './start-agent-process.ts';

// A process of its own: a service that blocks must not block the test that says so.
let agent: AgentProcess;
beforeAll(async () => {
  agent = await startAgentProcess();
});
afterAll(() => agent[Symbol.asyncDispose]());

const evil = '^(a+)+$';
const text = { text: `${'a'.repeat(40)}!` };
const withText = (schema: unknown) => ({ type: 'object', properties: { text: schema } });

/** Each level has two ways to the next, all of which fail at the end. */
const nest = (word: string, depth: number): unknown =>
  depth === 0 ? { type: 'number' } : { [word]: [nest(word, depth - 1), nest(word, depth - 1)] };

const doubling = {
  type: 'object',
  properties: { text: { $ref: '#/$defs/d30' } },
  $defs: {
    d0: { type: 'number' },
    ...Object.fromEntries(
      Array.from({ length: 30 }, (_, level) => [
        `d${level + 1}`,
        { anyOf: [{ $ref: `#/$defs/d${level}` }, { $ref: `#/$defs/d${level}` }] },
      ]),
    ),
  },
};

const hostile: [string, Record<string, unknown>, Record<string, unknown>][] = [
  ['a pattern', withText({ type: 'string', pattern: evil }), text],
  ['a pattern that is an array', withText({ type: 'string', pattern: [evil] }), text],
  ['patternProperties in an array', { type: 'object', patternProperties: [{ [evil]: {} }] }, { [text.text]: 1 }],
  ['patternProperties', { type: 'object', patternProperties: { [evil]: {} } }, { [text.text]: 1 }],
  ['nested anyOf', withText(nest('anyOf', 9)), text],
  ['nested oneOf', withText(nest('oneOf', 9)), text],
  ['definitions that double at each level', doubling, text],
  ['a definition of itself', { $ref: '#', type: 'object' }, text],
  ['a self-referring union', { $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }, text],
  ['required names by the thousand', { items: { required: Array(5_000).fill('x') }, type: 'object' }, text],
  ['a keyword that promises have', JSON.parse('{"type":"object","then":{}}'), text],
  ['a name that schemas of libraries have', { type: 'object', '~standard': { validate: 1 } }, text],
];

describe.each(hostile)('%s in the schema of', (_what, schema, args) => {
  test.each(['tools', 'agActions'])('%s leaves the service answering', async (kind) => {
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    const body = {
      message: `/tool take ${JSON.stringify(args)}`,
      stream: false,
      [kind]: [{ name: 'take', description: 'x', schema }],
    };
    const reply = await fetch(`${agent.url}/messages/${sessionId}`, {
      method: 'POST',
      headers: { ...user.headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
    });
    expect(reply.status).toBe(200);
    // No page is connected: the arguments were let through to it.
    expect(await reply.text()).toContain('BROWSER_NOT_CONNECTED');
  });
});

const root = { $ref: '#' };
const large: [string, Record<string, unknown>][] = [
  ...hostile.map(([what, schema]): [string, Record<string, unknown>] => [what, schema]),
  ['a list without end', withText({ type: 'array', minItems: 1e9, items: { type: 'string' } })],
  ['a text without end', withText({ type: 'string', minLength: 5e8 })],
  ['objects that hold themselves', { type: 'object', properties: { a: root, b: root, c: root, d: root } }],
  ['parts that are the whole', { allOf: Array(20).fill(root) }],
  ['a reference to another server', { $ref: 'http://127.0.0.1:1/schema.json' }],
  ['names by the thousand', withText({ enum: Array.from({ length: 2_000 }, (_, at) => `name ${at}`) })],
];

// The model without a provider answers in the form that is asked for.
test.each(large)('%s as the form of an answer leaves the service answering', async (_what, schema) => {
  const user = await agent.createUser();
  const format = { type: 'json_schema', name: 'form', schema };
  const choice = { type: 'function', name: 'take', parameters: schema };
  const ask = { role: 'user', content: 'hello' };
  const bodies: [string, object][] = [
    ['/v1/chat/completions', { messages: [ask], response_format: { ...format, json_schema: format } }],
    [
      '/v1/chat/completions',
      { messages: [ask], tools: [{ type: 'function', function: choice }], tool_choice: 'required' },
    ],
    ['/v1/responses', { input: [ask], text: { format } }],
    ['/v1/responses', { input: [ask], tools: [choice], tool_choice: choice }],
  ];
  for (const [path, body] of bodies) {
    const reply = await fetch(`${agent.url}${path}`, {
      method: 'POST',
      headers: { ...user.headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
    });
    // An answer that cannot have the form is the model's failure.
    expect([200, 502]).toContain(reply.status);
  }
});
