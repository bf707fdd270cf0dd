import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSocket } from './connect-socket.ts';
import { delegate, startTestAgent, type TestAgent } from './test-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startTestAgent();
});
afterAll(() => agent[Symbol.asyncDispose]());

test('no token and no secret header reaches the log, at any level and whatever goes wrong', async () => {
  const ana = await agent.createUser();
  const eve = await agent.createUser();
  const delegation = await delegate(ana.signer, agent.did);
  const secrets = { 'x-ucan-delegation': delegation, 'x-matrix-access-token': 'syt_matrix_secret_token' };
  const sessionId = await ana.createSession();
  const path = `/messages/${sessionId}`;
  const mcpInvocations = { a__b: ana.invocation };

  await ana.send('POST', path, { message: 'hello', mcpInvocations }, secrets);
  await ana.send('POST', path, { message: '', mcpInvocations: { a__b: 7 }, delegation }, secrets);
  await ana.send('POST', path, `{"message":"x","mcpInvocations":{"a":"${ana.invocation}"`, secrets);
  await ana.send('POST', '/delegation', { raw: delegation });
  await ana.send('POST', '/delegation', { raw: `${delegation}x`, expiration: -1 });
  await eve.send('POST', '/delegation', { raw: delegation });
  await ana.send('DELETE', '/delegation');
  await ana.send('GET', `/sessions?limit=x&token=${encodeURIComponent(ana.invocation)}`);
  await ana.send('GET', '/nothing', undefined, secrets);
  await ana.send('GET', '/sessions', undefined, { authorization: `Bearer ${ana.invocation}AAAA` });
  const socket = openSocket(agent.url, {
    query: { sessionId },
    auth: { invocation: ana.invocation, ucanDelegation: delegation },
  });
  await socket.event('connected');
  socket.socket.emit('tool_result', { toolCallId: 'x', result: ana.invocation });
  await socket.ask('ping', 'pong');
  socket.socket.close();

  const log = agent.log();
  expect(log.split('\n').length).toBeGreaterThan(10);
  // Of a base64 CAR the beginning is always the same; the middle tells them apart.
  for (const token of [ana.invocation, eve.invocation, delegation])
    for (const part of [token.slice(100, 130), encodeURIComponent(token).slice(100, 130)])
      expect(log).not.toContain(part);
  expect(log).not.toContain('syt_matrix_secret_token');
  expect(log).not.toContain('hello');
});
