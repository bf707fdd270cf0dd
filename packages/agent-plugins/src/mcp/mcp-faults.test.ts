import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@palaver/test-kit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startSessionMcpServer } from '../../../agent/test/mcp-server.ts';
import { streamTurn } from '../../../agent/test/read-frames.ts';
import { startTestAgent, type TestAgent } from '../../../agent/test/test-agent.ts';
import { countReadBytes } from './mcp-config.ts';

async function startAgent(servers: object[]): Promise<TestAgent> {
  const config = servers.map((server) => ({ approval: 'never', ...server }));
  const agent = await startTestAgent({ env: { MCP_SERVERS: JSON.stringify(config) } });
  // The start waits for them only a while.
  await waitFor('the servers', () => agent.log().split('connected to an MCP server').length > servers.length);
  return agent;
}

/** Calls a tool through the offline model and gives all its events, the last one first. */
async function useTool(agent: TestAgent, name: string, args: object = {}) {
  const user = await agent.createUser();
  const events = await streamTurn(user, await user.createSession(), `/tool ${name} ${JSON.stringify(args)}`);
  return events.filter(({ event }) => event === 'tool_call').map(({ data }) => data);
}

const lastOf = async (calls: ReturnType<typeof useTool>) => (await calls).at(-1);

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

describe('a result beyond what is read at all', () => {
  it.each([
    ['as a stream', false],
    ['as JSON', true],
  ])('%s is too large, at once', async (_how, json) => {
    await using server = await startSessionMcpServer({
      json,
      addTools(mcp) {
        mcp.registerTool('dump', { inputSchema: {} }, async () => text('x'.repeat(9 * 1024 * 1024)));
        mcp.registerTool('echo', { inputSchema: {} }, async () => text('still here'));
      },
    });
    await using agent = await startAgent([{ name: 'big', url: server.url }]);
    expect((await lastOf(useTool(agent, 'big__dump'))).error).toMatch(/^TOOL_RESULT_TOO_LARGE/);
    expect((await lastOf(useTool(agent, 'big__echo'))).output).toBe('still here');
  });

  it('is too large whatever it is, though the model would get a few words', async () => {
    const picture = { type: 'image' as const, data: 'A'.repeat(9 * 1024 * 1024), mimeType: 'image/png' };
    await using server = await startSessionMcpServer({
      addTools: (mcp) => mcp.registerTool('picture', { inputSchema: {} }, async () => ({ content: [picture] })),
    });
    await using agent = await startAgent([{ name: 'big', url: server.url }]);
    expect((await lastOf(useTool(agent, 'big__picture'))).error).toMatch(/^TOOL_RESULT_TOO_LARGE/);
  });

  it('is what many calls together read, until those before it are done', () => {
    const mebibyte = 1024 * 1024;
    const calls = Array.from({ length: 4 }, countReadBytes);
    for (const { take } of calls) take(8 * mebibyte);
    const late = countReadBytes();
    expect(() => late.take(mebibyte)).toThrow('too many large results');
    calls[0]?.[Symbol.dispose]();
    late.take(8 * mebibyte);
    for (const one of [...calls, late]) one[Symbol.dispose]();
  });

  it('from a process is too large, and the process is started again', async () => {
    const script = `
      import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
      import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
      const mcp = new McpServer({ name: 'big', version: '1.0.0' });
      const text = (text) => ({ content: [{ type: 'text', text }] });
      mcp.registerTool('dump', { inputSchema: {} }, async () => text('x'.repeat(9 * 1024 * 1024)));
      mcp.registerTool('echo', { inputSchema: {} }, async () => text('still here'));
      await mcp.connect(new StdioServerTransport());`;
    const args = ['--input-type=module', '-e', script];
    await using agent = await startAgent([{ name: 'big', command: process.execPath, args }]);
    expect((await lastOf(useTool(agent, 'big__dump'))).error).toMatch(/^TOOL_RESULT_TOO_LARGE/);
    expect((await lastOf(useTool(agent, 'big__echo'))).output).toBe('still here');
  });
});

it('a stream that is cut off before the result is a failure at once', async () => {
  await using server = await startSessionMcpServer({
    addTools: (mcp) => mcp.registerTool('echo', { inputSchema: {} }, async () => text('still here')),
  });
  await using agent = await startAgent([{ name: 'cut', url: server.url }]);
  server.handle = (body, response) => {
    if (body?.method !== 'tools/call') return false;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
    setImmediate(() => response.destroy());
    return true;
  };
  expect((await lastOf(useTool(agent, 'cut__echo'))).error).toMatch(/^TOOL_UNAVAILABLE/);
  server.handle = undefined;
  expect((await lastOf(useTool(agent, 'cut__echo'))).output).toBe('still here');
});

describe('a server that has forgotten the session', () => {
  it.each([404, 400] as const)('and says so with %d is called again in a new one', async (unknownSession) => {
    await using server = await startSessionMcpServer({
      unknownSession,
      addTools: (mcp) => mcp.registerTool('echo', { inputSchema: {} }, async () => text('done')),
    });
    await using agent = await startAgent([{ name: 'late', url: server.url }]);
    server.forget();
    server.methods.length = 0;
    expect((await lastOf(useTool(agent, 'late__echo'))).output).toBe('done');
    expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(2);
  });

  it('and forgets every new one too is asked twice, not for ever', async () => {
    await using server = await startSessionMcpServer({
      addTools: (mcp) => mcp.registerTool('echo', { inputSchema: {} }, async () => text('done')),
    });
    await using agent = await startAgent([{ name: 'late', url: server.url }]);
    server.methods.length = 0;
    server.handle = (body, response) => {
      if (body?.method !== 'tools/call') return false;
      response.writeHead(404).end();
      return true;
    };
    expect((await lastOf(useTool(agent, 'late__echo'))).error).toMatch(/^TOOL_UNAVAILABLE/);
    expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(2);
  });
});

it('progress reaches the client', async () => {
  await using server = await startSessionMcpServer({
    addTools: (mcp) =>
      mcp.registerTool('dig', { inputSchema: {} }, async (_args, { _meta, sendNotification }) => {
        const progressToken = _meta?.progressToken;
        if (progressToken === undefined) return text('nobody asks how far it is');
        const params = { progressToken, progress: 1, total: 3, message: 'one metre' };
        await sendNotification({ method: 'notifications/progress', params });
        await sleep(50);
        return text('dug');
      }),
  });
  await using agent = await startAgent([{ name: 'mine', url: server.url }]);
  const calls = await useTool(agent, 'mine__dig');
  expect(calls.map(({ status, progress, output }) => ({ status, progress, output }))).toEqual([
    { status: 'isRunning' },
    { status: 'isRunning', progress: { value: 1, total: 3, message: 'one metre' } },
    { status: 'done', output: 'dug' },
  ]);
});

describe('names', () => {
  it('that become one when they are cleaned stay two tools, each by the same name on every start', async () => {
    await using server = await startSessionMcpServer({
      addTools(mcp) {
        mcp.registerTool('a.b', { inputSchema: { x: z.string() } }, async () => text('dot'));
        mcp.registerTool('a_b', { inputSchema: { x: z.string() } }, async () => text('underscore'));
        mcp.registerTool('a/b', { inputSchema: { x: z.string() } }, async () => text('slash'));
        mcp.registerTool('c.d', { inputSchema: { x: z.string() } }, async () => text('alone'));
        mcp.registerTool(`long.${'n'.repeat(100)}`, { inputSchema: { x: z.string() } }, async () => text('long'));
      },
    });
    await using agent = await startAgent([{ name: 's', url: server.url }]);
    const answers = async (name: string) => (await lastOf(useTool(agent, name, { x: '' }))).output;
    expect(await answers('s__a_b')).toBe('underscore');
    expect(await answers('s__c_d')).toBe('alone');
    expect(await answers('s__a_b_2e7336dc')).toBe('dot');
    expect(await answers('s__a_b_c14cddc0')).toBe('slash');
    expect(await answers(`s__long_${'n'.repeat(47)}_a4a7407d`)).toBe('long');
  });
});

it('tools that run only as tasks are not offered', async () => {
  await using server = await startSessionMcpServer({
    addTools: (mcp) => mcp.registerTool('echo', { inputSchema: {} }, async () => text('done')),
  });
  server.handle = (body, response) => {
    if (body?.method !== 'tools/list') return false;
    const inputSchema = { type: 'object' };
    const tools = [
      { name: 'echo', inputSchema, execution: { taskSupport: 'optional' } },
      { name: 'research', inputSchema, execution: { taskSupport: 'required' } },
    ];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: { tools } }));
    return true;
  };
  await using agent = await startAgent([{ name: 's', url: server.url }]);
  expect((await lastOf(useTool(agent, 's__echo'))).output).toBe('done');
  expect(await useTool(agent, 's__research')).toEqual([]);
});
