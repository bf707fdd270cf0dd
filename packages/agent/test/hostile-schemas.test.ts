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
