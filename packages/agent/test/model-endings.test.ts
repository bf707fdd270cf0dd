// How an answer ends and what a failed turn leaves behind, with a language model at the wire.

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin } from '../src/define/plugin.ts';
import type { Tools } from '../src/define/tool.ts';
import {
  type Answer,
  callTools,
  endStream,
  openStream,
  refuse,
  say,
  startOpenAiServer,
  toChunk,
} from './openai-server.ts';
import { findData, streamTurn } from './read-frames.ts';
import { startTestAgent } from './test-agent.ts';

async function startPair(answers: [Answer, ...Answer[]], tools: Tools = {}) {
  const model = await startOpenAiServer(...answers);
  const plugin = defineOraclePlugin({
    name: 'test-tools',
    version: '1.0.0',
    manifest: { title: 'Tools', summary: 'Tools.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getTools: () => tools,
  });
  const agent = await startTestAgent({ plugins: [plugin], env: { LLM_BASE_URL: model.url } });
  const user = await agent.createUser();
  return {
    model,
    user,
    sessionId: await user.createSession(),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

const note: Tools[string] = {
  description: 'Writes a note',
  inputSchema: z.object({ text: z.string() }),
  execute: () => 'written',
};

/** Says something and ends for that reason. */
const sayAndEnd =
  (content: string, reason: string): Answer =>
  (response) => {
    openStream(response);
    response.write(toChunk({ content }));
    endStream(response, reason);
  };

describe('an answer that is not whole', () => {
  it.each([
    ['length', 'length'],
    ['content_filter', 'content_filter'],
  ])('ended by %s says so, streamed, sent and stored', async (reason, finish) => {
    await using pair = await startPair([sayAndEnd('There are three', reason)]);
    const events = await streamTurn(pair.user, pair.sessionId, 'list them');
    expect(events.at(-1)?.data).toMatchObject({ status: 'complete', finish });
    const { body } = await pair.user.say(pair.sessionId, 'list them again');
    expect(body.message).toMatchObject({ status: 'complete', finish, content: 'There are three' });
    const stored = await pair.user.messages(pair.sessionId);
    expect(stored.map((message) => message.finish)).toEqual([undefined, finish, undefined, finish]);
  });

  it('a whole one has no such mark', async () => {
    await using pair = await startPair([say('All three.')]);
    const { body } = await pair.user.say(pair.sessionId, 'list them');
    expect(body.message).not.toHaveProperty('finish');
  });

  it('because the steps are used up is still an answer, without tools', async () => {
    const more = callTools([{ name: 'note', args: '{"text":"x"}' }]);
    const answers = Array.from({ length: 12 }, () => more) as [Answer, ...Answer[]];
    await using pair = await startPair([...answers, say('This is what I have.')], { note });
    const { body } = await pair.user.say(pair.sessionId, 'go');
    expect(body.message).toMatchObject({
      status: 'complete',
      finish: 'step_limit',
      content: 'This is what I have.',
    });
    const last = pair.model.requests[12]?.body;
    expect(last).toMatchObject({ tool_choice: 'none' });
    expect(last.tools).not.toHaveLength(0);
  });
});

describe('a turn that failed', () => {
  it('carries its error without a stream too, and keeps it', async () => {
    await using pair = await startPair([refuse(401)]);
    const { status, body } = await pair.user.say(pair.sessionId, 'hi');
    const error = { code: 'MODEL_FAILED', kind: 'model', retryable: false, message: expect.stringContaining('401') };
    expect({ status, message: body.message }).toMatchObject({ status: 200, message: { status: 'failed', error } });
    expect((await pair.user.messages(pair.sessionId)).at(-1)).toMatchObject({ status: 'failed', error });
  });

  it('leaves no two questions in a row', async () => {
    await using pair = await startPair([refuse(401), refuse(401), say('ok')]);
    for (const question of ['one', 'two', 'three']) await pair.user.say(pair.sessionId, question);
    const asked = pair.model.requests[2]?.body.messages.slice(1);
    const note = { role: 'assistant', content: '(No answer: the turn failed or was stopped.)' };
    const [one, two, three] = ['one', 'two', 'three'].map((content) => ({ role: 'user', content }));
    expect(asked).toEqual([one, note, two, note, three]);
  });
});

describe('sentences', () => {
  const errorOf = async (answer: Answer) => {
    await using pair = await startPair([answer]);
    return findData(await streamTurn(pair.user, pair.sessionId, 'hi'), 'error');
  };

  it('a socket that is cut after the headers was not a refusal', async () => {
    const error = await errorOf((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': '1000' });
      response.write('data: ');
      setImmediate(() => response.destroy());
    });
    expect(error).toMatchObject({ code: 'MODEL_FAILED', retryable: true });
    expect(error.error).not.toMatch(/refused|200/);
  });

  it.each([
    ["This model's maximum context length is 8192 tokens.", 'context_length_exceeded'],
    ['prompt is too long: 210000 tokens > 200000 maximum', 'invalid_request_error'],
    ['the request exceeds the available context size', 'exceed_context_size_error'],
  ])('a conversation that is too long is named: %s', async (message, code) => {
    const error = await errorOf((response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', code } }));
    });
    expect(error).toMatchObject({ code: 'MODEL_FAILED', kind: 'limit', retryable: false });
    expect(error.error).toContain('too long');
  });
});

it('tool arguments that were cut off are named as such and shown as an object', async () => {
  const cut: Answer = (response) => {
    openStream(response);
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'note', arguments: '{"text":"once up' } };
    response.write(toChunk({ role: 'assistant', tool_calls: [call] }));
    endStream(response, 'length');
  };
  await using pair = await startPair([cut, say('Sorry.')], { note });
  const { body } = await pair.user.say(pair.sessionId, 'note this');
  expect(body.message.toolCalls).toMatchObject([{ status: 'error', error: expect.stringContaining('cut off') }]);
  const [call] = pair.model.requests[1]?.body.messages.at(-2).tool_calls ?? [];
  expect(JSON.parse(call.function.arguments)).toEqual({});
});

it('texts of two steps are apart, and stay before and after the call', async () => {
  const lookAndCall: Answer = (response) => {
    openStream(response);
    response.write(toChunk({ content: 'Let me write it down.' }));
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'note', arguments: '{"text":"x"}' } };
    response.write(toChunk({ tool_calls: [call] }));
    endStream(response, 'tool_calls');
  };
  await using pair = await startPair([lookAndCall, say('Do', 'ne.'), say('Yes.')], { note });
  const { body } = await pair.user.say(pair.sessionId, 'note this');
  expect(body.message.content).toBe('Let me write it down.\n\nDone.');
  const parts = [
    { type: 'text', text: 'Let me write it down.' },
    { type: 'tool_call', name: 'note', args: { text: 'x' }, status: 'done', output: 'written' },
    { type: 'text', text: 'Done.' },
  ];
  expect(body.message.parts).toMatchObject(parts);
  const [question, stored] = await pair.user.messages(pair.sessionId);
  expect(question.parts).toEqual([{ type: 'text', text: 'note this' }]);
  expect(stored.parts).toEqual(body.message.parts);
  await pair.user.say(pair.sessionId, 'sure?');
  const roles = pair.model.requests[2]?.body.messages.map(({ role, content }: Record<string, unknown>) => [
    role,
    content,
  ]);
  expect(roles.slice(1)).toEqual([
    ['user', 'note this'],
    ['assistant', 'Let me write it down.'],
    ['tool', 'written'],
    ['assistant', 'Done.'],
    ['user', 'sure?'],
  ]);
});
