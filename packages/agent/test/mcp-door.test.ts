// Both generations of the official client of MCP.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { waitFor } from '@palaver/test-kit';
import { loadClient } from '@palaver/test-kit/install-tools';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin, tool } from '../src/index.ts';
import { createGate } from './gate-plugin.ts';
import { request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const herd = defineOraclePlugin({
  name: 'herd',
  version: '1.0.0',
  manifest: { title: 'Herd', summary: 'Goats.', whenToUse: ['goats'], visibility: 'always', stability: 'stable' },
  getTools: () => ({
    count_goats: tool({
      description: 'How many goats the user has.',
      inputSchema: z.object({ colour: z.string() }),
      public: true,
      execute: ({ colour }, { user }) => ({ colour, goats: 3, owner: user.did }),
    }),
    sell_goats: tool({ description: 'Sells them.', inputSchema: z.object({}), execute: () => 'sold' }),
  }),
});

const gate = createGate();
let agent: TestAgent;
let ana: TestUser;
beforeAll(async () => {
  agent = await startTestAgent({ plugins: [herd, gate.plugin] });
  ana = await agent.createUser();
});
afterAll(() => agent[Symbol.asyncDispose]());

const next = await loadClient('@modelcontextprotocol/client');
const generations = [
  { name: 'sdk', Client, Transport: StreamableHTTPClientTransport },
  { name: 'client', Client: next.Client, Transport: next.StreamableHTTPClientTransport },
];

describe.each(generations)('@modelcontextprotocol/$name', (generation) => {
  test('lists what there is, asks with progress, and continues a conversation', async () => {
    const headers = { authorization: `Bearer ${ana.invocation}` };
    const client = new generation.Client({ name: 'test', version: '1' });
    await client.connect(new generation.Transport(new URL(`${agent.url}/mcp`), { requestInit: { headers } }));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['ask', 'count_goats']));
    expect(JSON.stringify(tools)).not.toContain('sell_goats');
    const call = (name: string, args: object) => client.callTool({ name, arguments: args as Record<string, unknown> });
    const [counted] = (await call('count_goats', { colour: 'white' })).content as { text: string }[];
    expect(JSON.parse(counted?.text ?? '')).toEqual({ colour: 'white', goats: 3, owner: ana.did });
    expect(await call('count_goats', {})).toMatchObject({ isError: true });
    for (const name of ['sell_goats', 'no_such_tool']) await expect(call(name, {})).rejects.toThrow('There is no tool');
    const words: unknown[] = [];
    const ask = (message: string, conversation?: string) => {
      const options = { onprogress: ({ message: word }: { message?: string }) => void words.push(word) };
      const call = { name: 'ask', arguments: { message, ...(conversation && { conversation }) } };
      return generation.name === 'sdk'
        ? (client as Client).callTool(call, undefined, options)
        : next.Client.prototype.callTool.call(client, call, options);
    };
    const first = await ask('/long 3');
    expect(first).toMatchObject({ content: [{ type: 'text', text: 'word1 word2 word3' }] });
    expect(words.join('')).toBe('word1 word2 word3');
    const { conversation } = first.structuredContent as { conversation: string };
    expect(await ask('/long 2', conversation)).toMatchObject({
      structuredContent: { answer: 'word1 word2', conversation },
    });
    expect(await ana.messages(conversation)).toHaveLength(4);
    await client.close();
  });

  test('a call that its client cancels is stopped', async () => {
    const headers = { authorization: `Bearer ${ana.invocation}` };
    const client = new generation.Client({ name: 'test', version: '1' });
    await client.connect(new generation.Transport(new URL(`${agent.url}/mcp`), { requestInit: { headers } }));
    const leaving = new AbortController();
    const call = { name: 'ask', arguments: { message: '/tool gate {}', conversation: generation.name } };
    const options = { signal: leaving.signal };
    const asked =
      generation.name === 'sdk'
        ? (client as Client).callTool(call, undefined, options)
        : next.Client.prototype.callTool.call(client, call, options);
    const refused = expect(asked).rejects.toThrow();
    await gate.reached();
    leaving.abort();
    await refused;
    await waitFor('the gate to be free', () => gate.waiting() === 0);
    await client.close();
  });
});

test('without a token the challenge names the metadata, which names the resource', async () => {
  const refused = await request(`${agent.url}/mcp`, { method: 'POST' });
  expect(refused.status).toBe(401);
  const [, url = ''] = /resource_metadata="(.+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  expect((await request(url)).body).toMatchObject({
    resource: `${agent.url}/mcp`,
    bearer_methods_supported: ['header'],
  });
});

test('a batch is refused: it would count as one request of its address', async () => {
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'ask', arguments: { message: 'hello' } },
  };
  const accept = 'application/json, text/event-stream';
  const { total } = (await ana.send('GET', '/sessions')).body;
  expect(await ana.send('POST', '/mcp', [call, { ...call, id: 2 }], { accept })).toMatchObject({
    status: 400,
    body: { jsonrpc: '2.0', error: { data: { code: 'BAD_REQUEST' } } },
  });
  expect((await ana.send('GET', '/sessions')).body.total).toBe(total);
});
