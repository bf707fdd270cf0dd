import { createTempDir, engines, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerOf, ask, pay } from './ask-approval.ts';
import { createBank, readPaid } from './bank-plugin.ts';
import { openSocket } from './connect-socket.ts';
import { collectFrames, readUntil } from './read-frames.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

describe.each(engines)('approval on %s', (engine) => {
  let agent: TestAgent;
  let paidFile: string;
  let dir: Awaited<ReturnType<typeof createTempDir>>;
  let ana: TestUser;
  beforeAll(async () => {
    dir = await createTempDir();
    paidFile = `${dir.path}/paid`;
    agent = await startTestAgent({
      engine,
      plugins: [createBank(paidFile)],
      env: { OPERATOR_TOKEN: 'operator-token-1' },
    });
    ana = await agent.createUser();
  });
  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  });

  test('given, runs the tool once, and the same answer again changes nothing', async () => {
    const sessionId = await ana.createSession();
    const small = (await ana.say(sessionId, pay(5))).body.message;
    expect(small).toMatchObject({
      status: 'complete',
      toolCalls: [{ name: 'pay', status: 'done', args: { to: 'ben' } }],
    });
    expect(small.approvals).toBeUndefined();
    const { frames, asked } = await ask(ana, sessionId, pay(50));
    expect(asked).toMatchObject({ toolName: 'pay', args: { to: 'ben', amount: 50 }, status: 'pending' });
    expect(readPaid(paidFile)).toEqual(['ben 5']);
    expect(await ana.liveRun(sessionId)).toMatchObject({
      runId: asked.runId,
      status: 'waiting',
      approvals: [{ approvalId: asked.approvalId, status: 'pending' }],
    });
    const ben = await agent.createUser();
    expect((await answerOf(ben, asked, true)).body.code).toBe('RUN_NOT_FOUND');
    expect((await answerOf(ana, { ...asked, approvalId: 'none' }, true)).body.code).toBe('APPROVAL_NOT_FOUND');
    const given = await answerOf(ana, asked, true);
    expect(given.body.approval).toMatchObject({ status: 'approved', answeredBy: ana.did });
    expect(await answerOf(ana, asked, true)).toMatchObject({ status: 200, body: given.body });
    expect(await answerOf(ana, asked, false)).toMatchObject({ status: 409, body: { code: 'APPROVAL_ANSWERED' } });

    const rest = await readUntil(frames, 'done');
    const events = rest.map(({ event, data }) => (data.status ? `${event} ${data.status}` : event));
    expect(events.slice(0, 3)).toEqual(['approval_request approved', 'tool_call isRunning', 'tool_call done']);
    expect(events.at(-1)).toBe('done complete');
    const message = (await ana.messages(sessionId)).at(-1);
    expect(message.parts.map(({ type }: { type: string }) => type)).toEqual([
      'reasoning',
      'approval',
      'tool_call',
      'text',
    ]);
    expect(message).toMatchObject({ status: 'complete', approvals: [given.body.approval] });
    expect(message.toolCalls[0].id).toBe(asked.toolCallId);
    expect(readPaid(paidFile)).toEqual(['ben 5', 'ben 50']);
    expect(JSON.stringify([message.toolCalls, message.approvals, rest])).not.toContain('pin-4711');
    expect(agent.log()).not.toContain('pin-4711');
    const audit = await fetch(`${agent.url}/audit?action=approval.answered`, {
      headers: { authorization: 'Bearer operator-token-1' },
    });
    const { lines } = (await audit.json()) as { lines: { details: unknown }[] };
    expect(lines).toMatchObject([{ details: { runId: asked.runId, tool: 'pay', answer: 'approved' } }]);
  });

  test('refused, keeps the tool from running, and the model reads why', async () => {
    const before = readPaid(paidFile);
    const sessionId = await ana.createSession();
    const { frames, asked } = await ask(ana, sessionId, pay(60));
    await answerOf(ana, asked, false, 'too much for one day');
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('complete');
    const message = (await ana.messages(sessionId)).at(-1);
    const error = 'APPROVAL_REFUSED: the user did not approve this call. It was not run. Reason: too much for one day';
    expect(message.toolCalls).toMatchObject([{ name: 'pay', status: 'error', error }]);
    expect(message.content).toContain('APPROVAL_REFUSED');
    expect(readPaid(paidFile)).toEqual(before);
  });

  test('pending, is refused by the next message, which is answered after it', async () => {
    const before = readPaid(paidFile);
    const sessionId = await ana.createSession();
    const { frames } = await ask(ana, sessionId, pay(70));
    const next = await ana.say(sessionId, 'hello');
    const [refused] = await readUntil(frames, 'approval_request');
    expect(refused?.data).toMatchObject({ status: 'refused', reason: 'The user sent another message instead.' });
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('complete');
    expect(next.body.message.status).toBe('complete');
    expect(readPaid(paidFile)).toEqual(before);
  });

  test('pending, ends with an abort, and cannot be given after it', async () => {
    const before = readPaid(paidFile);
    const sessionId = await ana.createSession();
    const { frames, asked } = await ask(ana, sessionId, pay(80));
    expect((await ana.abort(sessionId)).body.aborted).toBe(true);
    const rest = await readUntil(frames, 'done');
    expect(rest.map(({ data }) => data.status)).toEqual(['refused', 'aborted']);
    expect(await answerOf(ana, asked, true)).toMatchObject({ status: 409 });
    expect((await ana.messages(sessionId)).at(-1).approvals).toMatchObject([{ status: 'refused' }]);
    expect(readPaid(paidFile)).toEqual(before);
  });

  test('answered by a socket, is acknowledged and shown to every tab', async () => {
    const sessionId = await ana.createSession();
    const connect = () => openSocket(agent.url, { query: { sessionId }, auth: { invocation: ana.invocation } });
    const [tab, other] = [connect(), connect()];
    await Promise.all([tab.event('connected'), other.event('connected')]);
    const { frames } = await ask(ana, sessionId, pay(90));
    const { runId, approvalId, requestId, payload } = await tab.event('approval_request');
    expect(requestId).toEqual(expect.any(String));
    // The older library shows every event as a message whose enveloped payload has both ids.
    expect(payload).not.toHaveProperty('requestId');
    const respond = (answer: object) => tab.socket.emitWithAck('approval_response', answer);
    expect(await respond({ runId, approvalId })).toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await respond({ runId, approvalId: 'x', approved: true })).toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    expect(await respond({ runId, approvalId, approved: true })).toMatchObject({ approval: { status: 'approved' } });
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('complete');
    await waitFor('both events on the other tab', () => {
      const shown = other.events.filter(({ name }) => name === 'approval_request');
      return shown.map(({ payload }) => payload.status).join() === 'pending,approved';
    });
    tab.socket.close();
    other.socket.close();
  });

  test('survives a restart of the service, and so does the right to abort', async () => {
    const before = readPaid(paidFile);
    const [first, second] = [await ana.createSession(), await ana.createSession()];
    const asked = [await ask(ana, first, pay(100)), await ask(ana, second, pay(110))];
    await agent.restart();
    expect(await ana.liveRun(first)).toMatchObject({ status: 'waiting', approvals: [{ toolName: 'pay' }] });
    await answerOf(ana, asked[0]?.asked, true);
    const replay = await collectFrames(await ana.follow(asked[0]?.asked.runId));
    expect(replay.at(-1)?.data.status).toBe('complete');
    expect(replay.map(({ id }) => id)).toEqual(replay.map((_, index) => index + 1));
    expect((await ana.abort(second)).body.aborted).toBe(true);
    await waitFor('the end of the second', async () => (await ana.liveRun(second)) === null);
    expect((await ana.messages(second)).at(-1)).toMatchObject({
      status: 'aborted',
      approvals: [{ status: 'refused' }],
    });
    expect(readPaid(paidFile)).toEqual([...before, 'ben 100']);
  });

  test('not given in time, counts as refused', async () => {
    await using own = await startTestAgent({
      engine,
      plugins: [createBank(paidFile)],
      env: { APPROVAL_TIMEOUT_MS: '1000' },
    });
    const cai = await own.createUser();
    const sessionId = await cai.createSession();
    const { message } = (await cai.say(sessionId, pay(120))).body;
    expect(message).toMatchObject({ status: 'complete', approvals: [{ status: 'expired' }] });
    expect(message.toolCalls[0].error).toMatch(/^APPROVAL_EXPIRED/);
    expect(readPaid(paidFile)).not.toContain('ben 120');
  });
});
