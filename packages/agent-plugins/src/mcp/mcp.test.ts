import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createTempDir, freePort, searchDatabase, startProcess, type TestProcess, waitFor } from '@palaver/test-kit';
import { createDelegation, createInvocation, createSigner, createVerifier } from '@palaver/ucan';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ask } from '../../../agent/test/ask-approval.ts';
import { collectFrames, readFrames, readUntil, streamTurn, textOf } from '../../../agent/test/read-frames.ts';
import { startTestAgent, type TestAgent } from '../../../agent/test/test-agent.ts';
import { mcpConfigSchema } from './mcp-config.ts';

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

/** Its tools run without an approval, unless a server says otherwise. */
async function startAgent(servers: object[]): Promise<TestAgent> {
  const config = servers.map((server) => ({ approval: 'never', ...server }));
  return await startTestAgent({ engine: 'sqlite', env: { MCP_SERVERS: JSON.stringify(config) } });
}

/** Calls a tool through the offline model and gives its last event. */
async function useTool(agent: TestAgent, name: string, args: object, extra: object = {}) {
  const user = await agent.createUser();
  const message = `/tool ${name} ${JSON.stringify(args)}`;
  const events = await streamTurn(user, await user.createSession(), message, extra);
  const call = events.findLast(({ event }) => event === 'tool_call')?.data;
  return { ...call, answer: textOf(events), end: events.at(-1)?.data.status };
}

async function startEverything(port: number): Promise<TestProcess> {
  const server = startProcess(process.execPath, [everything, 'streamableHttp'], { env: { PORT: String(port) } });
  await server.printed('listening on port');
  return server;
}

/** A server of our own whose tool says who called it; without a proper bearer, calls are refused. */
async function startProtectedServer() {
  const seen: IncomingHttpHeaders[] = [];
  const methods: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = text === '' ? undefined : JSON.parse(text);
    methods.push(body?.method);
    if (body?.method === 'tools/call') {
      seen.push(request.headers);
      if (request.headers.authorization === 'Bearer c3RvbGVu') return void response.writeHead(401).end();
    }
    const mcp = new McpServer({ name: 'vault', version: '1.0.0' });
    mcp.registerTool('open.door', { description: 'Opens', inputSchema: { door: z.string() } }, async ({ door }) => ({
      content: [{ type: 'text', text: `${door} is open` }],
    }));
    mcp.registerTool('wait', { description: 'Waits', inputSchema: {} }, async (_args, { signal }) => {
      await once(signal, 'abort');
      return { content: [] };
    });
    mcp.registerTool('fail', { description: 'Fails', inputSchema: {} }, async () => ({
      content: [{ type: 'text', text: 'the lock is frozen' }],
      isError: true,
    }));
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on('close', () => void mcp.close());
    await mcp.connect(transport);
    await transport.handleRequest(request, response, body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    methods,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('a server from npm', () => {
  it('over stdio: its tools are ours, and its process ends with us', async () => {
    await using dir = await createTempDir();
    const pidFile = join(dir.path, 'pid');
    const script = `echo $$ > "$PID_FILE"; exec "$0" "$@"`;
    const args = ['-c', script, process.execPath, everything, 'stdio'];
    const agent = await startAgent([{ name: 'all', command: 'sh', args, env: { PID_FILE: pidFile } }]);
    try {
      // The agent does not wait long for a server that starts slowly.
      await waitFor('its tools', async () => (await useTool(agent, 'all__echo', { message: 'a' })).status === 'done');
      expect(await useTool(agent, 'all__echo', { message: 'héllo' })).toMatchObject({
        status: 'done',
        output: 'Echo: héllo',
        end: 'complete',
      });
      expect((await useTool(agent, 'all__get-sum', { a: 2, b: 3 })).output).toContain('5');
      const structured = await useTool(agent, 'all__get-structured-content', { location: 'New York' });
      expect(structured.output).toMatchObject({ temperature: expect.any(Number) });
      expect((await useTool(agent, 'all__get-tiny-image', {})).output).toContain('[image image/png]');
      expect((await useTool(agent, 'all__get-sum', { a: 'two' })).error).toMatch(/^TOOL_FAILED.*arguments/);
    } finally {
      await agent[Symbol.asyncDispose]();
    }
    const pid = Number(await readFile(pidFile, 'utf8'));
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('over HTTP: when it vanishes its tools say so, and when it is back they work', async () => {
    const port = await freePort();
    let server = await startEverything(port);
    await using agent = await startAgent([{ name: 'all', url: `http://127.0.0.1:${port}/mcp` }]);
    try {
      expect((await useTool(agent, 'all__echo', { message: 'one' })).output).toBe('Echo: one');
      server.kill();
      await server.exited;
      const away = await useTool(agent, 'all__echo', { message: 'two' });
      expect(away).toMatchObject({ status: 'error', end: 'complete' });
      expect(away.error).toMatch(/^TOOL_UNAVAILABLE/);
      server = await startEverything(port);
      await waitFor('the tools to work again', async () => {
        const { output } = await useTool(agent, 'all__echo', { message: 'three' });
        return output === 'Echo: three';
      });
    } finally {
      server.kill();
      await server.exited;
    }
  });

  it('that is down at the start does not stop it, and joins later', async () => {
    const port = await freePort();
    await using agent = await startAgent([{ name: 'all', url: `http://127.0.0.1:${port}/mcp` }]);
    expect((await useTool(agent, 'all__echo', { message: 'x' })).answer).toContain('There is no tool');
    const server = await startEverything(port);
    try {
      await waitFor('the tools', async () => {
        const { output } = await useTool(agent, 'all__echo', { message: 'late' });
        return output === 'Echo: late';
      });
    } finally {
      server.kill();
      await server.exited;
    }
  });
});

describe('a protected tool', () => {
  it("is called with the user's invocation of that name, as a bearer of type ucan", async () => {
    await using server = await startProtectedServer();
    await using agent = await startAgent([{ name: 'vault', url: server.url, protected: true }]);
    const mcpInvocations = { vault__open_door: 'dXNlcg==', vault__wait: 'b3RoZXI=' };
    const call = await useTool(agent, 'vault__open_door', { door: 'the gate' }, { mcpInvocations });
    expect(call).toMatchObject({ status: 'done', output: 'the gate is open' });
    expect(server.seen).toMatchObject([{ authorization: 'Bearer dXNlcg==', 'x-auth-type': 'ucan' }]);
  });

  it('without one answers AUTHORIZATION_REQUIRED, is never called, and the turn continues', async () => {
    await using server = await startProtectedServer();
    await using agent = await startAgent([{ name: 'vault', url: server.url, protected: true }]);
    const mcpInvocations = { vault__wait: 'b3RoZXI=' };
    const call = await useTool(agent, 'vault__open_door', { door: 'the gate' }, { mcpInvocations });
    expect(call).toMatchObject({ status: 'error', end: 'complete' });
    expect(call.error).toMatch(/^AUTHORIZATION_REQUIRED/);
    expect(server.seen).toEqual([]);
  });

  it('of a server with a DID is called under the delegation of the user, who is asked for exactly that one', async () => {
    await using server = await startProtectedServer();
    const vault = (await createSigner()).did();
    await using agent = await startAgent([{ name: 'vault', url: server.url, protected: true, did: vault }]);
    const ana = await agent.createUser();
    const { frames, asked } = await ask(ana, await ana.createSession(), '/tool vault__open_door {"door":"the gate"}');
    const capability = { can: 'mcp/call', with: ana.did, nb: { server: vault, tool: 'open.door' } };
    expect(asked).toMatchObject({ toolName: 'vault__open_door', capability });
    const options = { issuer: ana.signer, audience: agent.did, capabilities: [capability] };
    const { serialized: raw } = await createDelegation(options);
    expect((await ana.send('POST', '/delegation', { raw })).status).toBe(200);
    expect((await readUntil(frames, 'done')).findLast(({ event }) => event === 'tool_call')?.data).toMatchObject({
      output: 'the gate is open',
    });
    const token = server.seen[0]?.authorization?.replace('Bearer ', '') ?? '';
    expect((await createVerifier({ audiences: [vault] }).verifyDelegation(token)).ok).toMatchObject({
      did: agent.did,
      capabilities: [capability],
      view: { proofs: [{ issuer: ana.did }] },
    });
    // The user's own invocation comes first.
    const mcpInvocations = { vault__open_door: 'dXNlcg==' };
    expect((await useTool(agent, 'vault__open_door', { door: 'x' }, { mcpInvocations })).status).toBe('done');
    expect(server.seen[1]?.authorization).toBe('Bearer dXNlcg==');
  });

  it('of a server for which users sign: the run waits, also across a restart, and the call is made with what they signed', async () => {
    await using server = await startProtectedServer();
    const vault = (await createSigner()).did();
    const config = { name: 'vault', url: server.url, protected: true, did: vault, sign: 'user' };
    await using agent = await startAgent([config]);
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const opening = '/tool vault__open_door {"door":"the gate"}';
    const { asked, frames } = await ask(ana, sessionId, opening);
    const capability = { can: 'mcp/call', with: ana.did, nb: { server: vault, tool: 'open.door' } };
    expect(asked).toMatchObject({ toolName: 'vault__open_door', invocation: { audience: vault, capability } });
    expect(asked.capability).toBeUndefined();
    void frames.next().catch(() => undefined);
    await agent.restart();
    const answer = (given: object) => ana.send('POST', `/runs/${asked.runId}/approvals/${asked.approvalId}`, given);
    expect(await answer({ approved: true })).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    const { serialized } = await createInvocation({ issuer: ana.signer, audience: vault, capability });
    const { status, body } = await answer({ approved: true, invocation: serialized });
    expect([status, body.approval.status]).toEqual([200, 'approved']);
    expect(JSON.stringify(body)).not.toContain(serialized);
    const end = await collectFrames(await ana.follow(asked.runId));
    expect(end.findLast(({ event }) => event === 'tool_call')?.data).toMatchObject({ output: 'the gate is open' });
    expect(JSON.stringify(end)).not.toContain(serialized);
    expect(server.seen).toMatchObject([{ authorization: `Bearer ${serialized}`, 'x-auth-type': 'ucan' }]);
    // Encrypted also without DATA_ENCRYPTION_KEY, and handed out to nobody.
    expect(await searchDatabase(agent.databaseUrl, [serialized])).toEqual([]);
    const { agent_approval: exported } = (await ana.send('GET', '/me/export')).body.data;
    expect(exported).toMatchObject([{ id: asked.approvalId }]);
    expect(exported[0]).not.toHaveProperty('signed');

    const again = await ask(ana, sessionId, opening);
    await ana.send('POST', `/runs/${again.asked.runId}/approvals/${again.asked.approvalId}`, { approved: false });
    const refused = (await readUntil(again.frames, 'done')).findLast(({ event }) => event === 'tool_call');
    expect(refused?.data.error).toMatch(/^AUTHORIZATION_REQUIRED: the user has not signed an invocation/);
    // One that comes with the message is not asked for.
    const mcpInvocations = { vault__open_door: 'dXNlcg==' };
    expect((await useTool(agent, 'vault__open_door', { door: 'x' }, { mcpInvocations })).status).toBe('done');
  });

  it('whose server refuses the invocation says so', async () => {
    await using server = await startProtectedServer();
    await using agent = await startAgent([{ name: 'vault', url: server.url, protected: ['open.door'] }]);
    const mcpInvocations = { vault__open_door: 'c3RvbGVu' };
    const call = await useTool(agent, 'vault__open_door', { door: 'the gate' }, { mcpInvocations });
    expect(call.error).toMatch(/^AUTHORIZATION_REQUIRED/);
  });

  it('may be used beside open ones, which never see an invocation', async () => {
    await using server = await startProtectedServer();
    await using agent = await startAgent([
      { name: 'vault', url: server.url, protected: ['wait'], headers: { 'x-api-key': 'k1' } },
    ]);
    const mcpInvocations = { vault__open_door: 'dXNlcg==' };
    const call = await useTool(agent, 'vault__open_door', { door: 'the gate' }, { mcpInvocations });
    expect(call.output).toBe('the gate is open');
    expect(server.seen[0]).toMatchObject({ 'x-api-key': 'k1' });
    expect(server.seen[0]?.authorization).toBeUndefined();
  });
});

it("a tool's own failure is passed on in its words", async () => {
  await using server = await startProtectedServer();
  await using agent = await startAgent([{ name: 'vault', url: server.url }]);
  expect((await useTool(agent, 'vault__fail', {})).error).toBe('TOOL_FAILED: the lock is frozen');
});

it('an abort reaches the server', async () => {
  await using server = await startProtectedServer();
  await using agent = await startAgent([{ name: 'vault', url: server.url }]);
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  const work = streamTurn(user, sessionId, '/tool vault__wait {}');
  await waitFor('the call', () => server.seen.length === 1);
  await user.send('POST', '/messages/abort', { sessionId });
  expect((await work).at(-1)).toMatchObject({ data: { status: 'aborted' } });
  await waitFor('the server to receive it', () => server.methods.includes('notifications/cancelled'));
});

describe('the approval of a tool', () => {
  async function startLedger() {
    const called: string[] = [];
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      const mcp = new McpServer({ name: 'ledger', version: '1.0.0' });
      const add = (name: string, annotations?: object) =>
        mcp.registerTool(
          name,
          { description: name, inputSchema: {}, ...(annotations && { annotations }) },
          async () => {
            called.push(name);
            return { content: [{ type: 'text', text: `${name} done` }] };
          },
        );
      add('read', { readOnlyHint: true });
      add('erase', { readOnlyHint: false, destructiveHint: true });
      add('append', { destructiveHint: false });
      add('silent');
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
      response.on('close', () => void mcp.close());
      await mcp.connect(transport);
      await transport.handleRequest(request, response, text === '' ? undefined : JSON.parse(text));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
      called,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }
  const names = ['read', 'erase', 'append', 'silent'];

  it.each([
    [undefined, ['erase', 'append', 'silent']],
    ['writes', ['erase', 'append', 'silent']],
    ['always', names],
    ['never', []],
    [['read'], ['read']],
  ])('is asked for with approval %j: %j', async (approval, asked) => {
    await using ledger = await startLedger();
    const config = { name: 'ledger', url: ledger.url, ...(approval && { approval }) };
    await using agent = await startTestAgent({ env: { MCP_SERVERS: JSON.stringify([config]) } });
    const ana = await agent.createUser();
    const waiting: string[] = [];
    for (const name of names) {
      const sessionId = await ana.createSession();
      const response = await ana.stream(sessionId, `/tool ledger__${name} {}`);
      const frames = readFrames(response);
      for await (const { event, data } of frames) {
        if (event === 'approval_request' && data.status === 'pending') {
          waiting.push(name);
          expect(ledger.called).not.toContain(name);
          await ana.send('POST', `/runs/${data.runId}/approvals/${data.approvalId}`, { approved: true });
        }
        if (event === 'done') break;
      }
      expect(ledger.called.filter((call) => call === name)).toEqual([name]);
    }
    expect(waiting).toEqual(asked);
  });
});

describe('MCP_SERVERS', () => {
  const parse = (value: unknown) =>
    mcpConfigSchema.safeParse({ MCP_SERVERS: typeof value === 'string' ? value : JSON.stringify(value) });

  it.each<[string, unknown, string]>([
    ['is no JSON', '[{', 'expected a JSON list'],
    ['has a server without a way to it', [{ name: 'a' }], 'needs a url or a command'],
    ['has a server with two', [{ name: 'a', url: 'http://a', command: 'a' }], 'needs a url or a command'],
    ['protects a process', [{ name: 'a', command: 'a', protected: true }], 'only a server with a url'],
    [
      'names two alike',
      [
        { name: 'a', command: 'a' },
        { name: 'a', command: 'b' },
      ],
      'same name',
    ],
    ['has a name that would not come apart', [{ name: 'a__b', command: 'a' }], 'single - or _'],
    ['has a strange address', [{ name: 'a', url: 'file:///etc/passwd' }], 'http or https'],
  ])('that %s is a fault that says why', (_what, value, message) => {
    expect(parse(value).error?.issues[0]?.message).toContain(message);
  });

  it('stops the start without showing what is in it', async () => {
    const start = startTestAgent({ env: { MCP_SERVERS: '[{"name":"a","headers":{"authorization":"s3cret"}}]' } });
    await expect(start).rejects.toThrow(/MCP_SERVERS.*needs a url/);
    await expect(start).rejects.not.toThrow('s3cret');
  });
});
