import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createTempDir, startProcess, type TestProcess, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBank, readPaid } from '../../../packages/agent/test/bank-plugin.ts';
import { startTestAgent } from '../../../packages/agent/test/test-agent.ts';

const launcher = join(import.meta.dirname, '../bin/palaver.js');
let dir: Awaited<ReturnType<typeof createTempDir>>;
let agent: TestProcess;
let url: string;
let key: string;

beforeAll(async () => {
  dir = await createTempDir();
  key = join(dir.path, 'config', 'user.key');
  agent = startProcess(process.execPath, [launcher, 'agent'], { env: { PORT: '0', DATA_DIR: dir.path } });
  await agent.printed('listening on');
  url = /listening on (http:\/\/[\d.:]+)/.exec(agent.output())?.[1] ?? '';
});
afterAll(async () => {
  agent.kill('SIGTERM');
  await agent.exited;
  await dir[Symbol.asyncDispose]();
});

async function run(...args: string[]): Promise<{ code: number | string; output: string }> {
  const child = startProcess(process.execPath, [launcher, ...args, '--key', key]);
  return { code: await child.exited, output: child.output() };
}

test('token makes a key once and signs tokens the agent takes', async () => {
  const first = await run('token', '--for', url, '--json');
  expect(first.output).toContain('Made a key in');
  expect(statSync(key).mode & 0o777).toBe(0o600);
  const headers = await run('token', '--for', url, '--headers');
  expect(headers.output).toMatch(/^Authorization: Bearer \S+\nX-Auth-Type: ucan\n$/);
  const sent = Object.fromEntries(
    headers.output
      .trim()
      .split('\n')
      .map((line) => line.split(': ') as [string, string]),
  );
  expect((await fetch(`${url}/sessions`, { headers: sent })).status).toBe(200);
  const apiKey = JSON.parse((await run('token', '--for', url, '--lifetime', '30d', '--json')).output);
  expect(apiKey.kind).toBe('delegation');
  expect(Math.round((apiKey.expiresAt - Date.now() / 1000) / 86_400)).toBe(30);
  expect((await fetch(`${url}/sessions`, { headers: { 'x-ucan-delegation': apiKey.token } })).status).toBe(200);
  const delegation = JSON.parse((await run('token', '--for', url, '--delegation', '--json')).output);
  expect(delegation).toMatchObject({
    kind: 'delegation',
    did: JSON.parse(first.output.slice(first.output.indexOf('{'))).did,
  });
  expect((await fetch(`${url}/sessions`, { headers: { 'x-ucan-delegation': delegation.token } })).status).toBe(200);
});

test.each([
  [['token', '--audience', 'did:key:foo', '--lifetime', 'soon'], 'expected seconds'],
  [['token'], 'Name the agent with --for'],
  [['token', '--for', 'foo'], 'expected an address such as http://127.0.0.1:4000'],
  [['chat', 'foo'], 'expected an address'],
  [['token', '--audience', 'foo'], '--audience must be a DID such as did:key:z6Mk…, not "foo".'],
  [['token', '--audience', 'did:key:foo'], 'The token cannot be created: '],
  [['token', '--for', 'http://127.0.0.1:1'], 'No agent answers at http://127.0.0.1:1'],
  [['chat', 'http://127.0.0.1:1'], 'No agent answers at http://127.0.0.1:1'],
])('%s ends with one sentence and 1', async (args, sentence) => {
  const { code, output } = await run(...args);
  expect(code).toBe(1);
  expect(output).toContain(sentence);
  expect(output).not.toContain('    at ');
});

test.each([
  [['dial', 'localhost:3000']],
  [['flow', 'replay', 'any.yaml', '--url', 'foo']],
  [['gateway', 'check', 'foo']],
])('%s says what an address looks like', async (args) => {
  const child = startProcess(process.execPath, [launcher, ...args]);
  expect(await child.exited).toBe(1);
  expect(child.output()).toContain('expected an address such as http://127.0.0.1:4000');
});

test('chat streams answers, shows tools, and Ctrl-C stops an answer without ending the chat', async () => {
  const child = spawn(process.execPath, [launcher, 'chat', url, '--key', key], { stdio: 'pipe' });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  child.stdin.write('call me Ana\n');
  await waitFor(
    'the tool',
    () => /⚙ set_user_preferences {"userName":"Ana"}/.test(text) && /✓ set_user_preferences/.test(text),
  );
  child.stdin.write('/long 2000\n');
  await waitFor('the answer', () => text.includes('word5 '));
  child.kill('SIGINT');
  await waitFor('the stop', () => text.includes('[stopped]'));
  child.stdin.end('/long 2\n');
  await once(child, 'close');
  expect(text).toMatch(/\[stopped\]\s+word1 word2\n$/);
  expect(child.exitCode).toBe(0);
});

test('chat signs the delegation that a tool lacks', async () => {
  const paidFile = join(dir.path, 'withdrawn');
  await using bank = await startTestAgent({ plugins: [createBank(paidFile)] });
  const child = spawn(process.execPath, [launcher, 'chat', bank.url, '--key', key, '--json'], { stdio: 'pipe' });
  let asked = '';
  child.stderr.on('data', (chunk) => (asked += chunk));
  child.stdout.resume();
  child.stdin.end('/tool withdraw {"amount":5}\ny\n');
  await once(child, 'close');
  expect(asked).toMatch(
    /needs a delegation of \{"can":"bank\/withdraw","with":"did:key:\w+","nb":\{"limit":100\}\}\. Sign/,
  );
  expect(readPaid(paidFile)).toEqual(['withdrawn 5']);
});

test('chat asks before a tool that needs approval runs: y approves, n and the end of the input refuse', async () => {
  const paidFile = join(dir.path, 'paid');
  await using bank = await startTestAgent({ plugins: [createBank(paidFile)] });
  const child = spawn(process.execPath, [launcher, 'chat', bank.url, '--key', key, '--json'], { stdio: 'pipe' });
  let asked = '';
  let events = '';
  child.stderr.on('data', (chunk) => (asked += chunk));
  child.stdout.on('data', (chunk) => (events += chunk));
  const questions = () =>
    asked.match(/pay \{"to":"\w+","amount":\d+\} needs your approval\. Run it\? \(y\/n\)/g)?.length;
  child.stdin.write('/tool pay {"to":"ana","amount":50}\nperhaps\n');
  await waitFor('the question, twice', () => questions() === 2);
  expect(readPaid(paidFile)).toEqual([]);
  child.stdin.write('y\n/tool pay {"to":"ben","amount":60}\nn\n');
  await waitFor('the second answer', () => events.match(/"name":"done"/g)?.length === 2);
  child.stdin.end('/tool pay {"to":"cem","amount":70}\n');
  await once(child, 'close');
  expect(readPaid(paidFile)).toEqual(['ana 50']);
  const statuses = events
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .flatMap(({ name, data }) => (name === 'approval_request' && data.status !== 'pending' ? [data.status] : []));
  expect(statuses).toEqual(['approved', 'refused', 'refused']);
});

/** An agent of somebody else: whatever it says is in its own words. */
async function startHostileAgent(events: readonly [name: string, data: object][]) {
  const server = createServer((request, response) => {
    const reply = (body: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (request.url === '/.well-known/did.json') return reply({ id: 'did:web:hostile.example' });
    if (request.url === '/sessions') return reply({ sessionId: `s${hidden}` });
    if (!request.url?.startsWith('/messages/')) return response.writeHead(409).end(JSON.stringify({ message: hidden }));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [index, [name, data]] of events.entries()) {
      response.write(`event: ${name}\nid: ${index + 1}\ndata: ${JSON.stringify(data)}\n\n`);
    }
    return response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

/** Hides what follows in a terminal, moves the cursor, turns the text around, and begins a line. */
const hidden = '\u001b[8m\u009b8m\r\u202e\u0008\u007f';

test('chat shows what an agent says without letting it control the terminal', async () => {
  const where = { sessionId: 's', requestId: 'q', runId: 'r' };
  const call = { ...where, eventId: 'e', toolCallId: 'c', toolName: `pay${hidden}\nok`, args: { [hidden]: hidden } };
  const asked = { ...call, status: 'pending', askedAt: hidden, expiresAt: hidden };
  const capability = { can: `bank/withdraw${hidden}`, with: hidden, nb: { limit: hidden } };
  await using hostile = await startHostileAgent([
    ['run', where],
    ['reasoning', { ...where, reasoning: `why${hidden}`, isComplete: true }],
    ['message', { content: `hello${hidden}\n\tAna`, timestamp: hidden }],
    ['tool_call', { ...call, status: 'isRunning' }],
    ['tool_call', { ...call, status: 'error', error: `no${hidden}` }],
    ['render_component', { ...call, componentName: `card${hidden}`, status: 'done' }],
    ['approval_request', { ...asked, approvalId: 'a1', capability }],
    ['approval_request', { ...asked, approvalId: 'a2', invocation: { audience: `did:web:${hidden}`, capability } }],
    ['approval_request', { ...asked, approvalId: 'a3', status: `gone${hidden}` }],
    ['error', { error: `sorry${hidden}`, code: hidden, kind: hidden, retryable: false, timestamp: hidden }],
    ['done', { runId: 'r', messageId: 'm', status: 'failed' }],
  ]);
  for (const option of ['--reasoning', '--json']) {
    const child = spawn(process.execPath, [launcher, 'chat', hostile.url, '--key', key, option], { stdio: 'pipe' });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
    child.stdin.end('hello\n');
    await once(child, 'close');
    expect(text).toContain('hello\\u001b[8m');
    expect(text.replaceAll(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(text).not.toMatch(/^ok/m);
  }
});
