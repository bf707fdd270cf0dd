// The agent with a language model behind LLM_BASE_URL, over real HTTP from end to end.

import { DatabaseSync } from 'node:sqlite';
import { waitFor } from '@palaver/test-kit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin } from '../src/define/plugin.ts';
import type { Tools } from '../src/define/tool.ts';
import { type Answer, callTools, openStream, refuse, say, startOpenAiServer, toChunk } from './openai-server.ts';
import { findData, streamTurn, textOf } from './read-frames.ts';
import { startTestAgent, type TestAgent } from './test-agent.ts';

async function startPair(
  answers: [Answer, ...Answer[]],
  options: { env?: Record<string, string>; tools?: Tools } = {},
) {
  const model = await startOpenAiServer(...answers);
  const plugin = defineOraclePlugin({
    name: 'test-tools',
    version: '1.0.0',
    manifest: { title: 'Tools', summary: 'Tools.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getTools: () => options.tools ?? {},
  });
  const env = { LLM_BASE_URL: model.url, ...options.env };
  const agent = await startTestAgent({ plugins: [plugin], env, engine: 'sqlite' });
  return {
    model,
    agent,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

function readRuns({ databaseUrl }: TestAgent) {
  const database = new DatabaseSync(databaseUrl.slice('file:'.length), { readOnly: true });
  try {
    return database.prepare('select status, model, input_tokens, output_tokens from agent_run order by id').all();
  } finally {
    database.close();
  }
}

const add: Tools[string] = {
  description: 'Adds two numbers',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
};

it('a conversation with tools: streamed, stored, sent to the model again, and accounted for', async () => {
  await using pair = await startPair(
    [
      callTools([
        { name: 'add', args: '{"a": 2, "b": 3}' },
        { name: 'add', args: '{"a": 20, "b": 30}' },
      ]),
      say('5 and ', '50.'),
      say('You asked for sums.'),
    ],
    { tools: { add } },
  );
  const user = await pair.agent.createUser();
  const sessionId = await user.createSession();
  const events = await streamTurn(user, sessionId, 'add some numbers');
  expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  expect(textOf(events)).toBe('5 and 50.');
  const outputs = events.filter(({ event, data }) => event === 'tool_call' && data.status === 'done');
  expect(outputs.map(({ data }) => data.output)).toEqual([{ sum: 5 }, { sum: 50 }]);
  expect(events.at(-1)).toMatchObject({ event: 'done', data: { status: 'complete' } });
  expect(pair.model.requests[1]?.body.messages.filter(({ role }: { role: string }) => role === 'tool')).toHaveLength(2);

  await streamTurn(user, sessionId, 'what did I ask?');
  const { messages } = pair.model.requests[2]?.body ?? {};
  const contents = messages.map(({ role, content }: { role: string; content: string | null }) => [role, content]);
  expect(contents.slice(1)).toEqual([
    ['user', 'add some numbers'],
    ['assistant', null],
    ['tool', '{"sum":5}'],
    ['tool', '{"sum":50}'],
    ['assistant', '5 and 50.'],
    ['user', 'what did I ask?'],
  ]);
  expect(messages[0].content).toContain('You are Palaver');
  expect(readRuns(pair.agent)).toEqual([
    { status: 'complete', model: 'default', input_tokens: 22, output_tokens: 14 },
    { status: 'complete', model: 'default', input_tokens: 11, output_tokens: 7 },
  ]);
});

it('the model of a message is the one it chose', async () => {
  await using pair = await startPair([say('ok')], { env: { LLM_MODEL: 'small', LLM_MODELS: 'small,large' } });
  const user = await pair.agent.createUser();
  const sessionId = await user.createSession();
  const chosen = await user.send('POST', `/messages/${sessionId}`, { message: 'hi', model: 'large' });
  expect(chosen).toMatchObject({ status: 200, body: { message: { content: 'ok', status: 'complete' } } });
  expect(pair.model.requests[0]?.body.model).toBe('large');
  const unknown = await user.send('POST', `/messages/${sessionId}`, { message: 'hi', model: 'huge' });
  expect(unknown).toMatchObject({ status: 400, body: { code: 'MODEL_UNKNOWN', statusCode: 400 } });
  expect(pair.model.requests).toHaveLength(1);
  const listed = await fetch(`${pair.agent.url}/models`);
  expect(await listed.json()).toMatchObject({ default: 'small', models: [{ id: 'small' }, { id: 'large' }] });
});

it('a model that cannot answer is followed by the next one, which is charged for; one that refuses is not', async () => {
  const env = { LLM_MODEL: 'large', LLM_FALLBACK_MODELS: 'large,middle,small' };
  // The first would wait for longer than a call is repeated.
  const busy = refuse(429, { 'retry-after': '60' });
  const used: object[] = [];
  const meter = defineOraclePlugin({
    name: 'meter',
    version: '1.0.0',
    manifest: { title: 'Meter', summary: 'Counts.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getMiddlewares: () => [{ onTurnEnd: ({ usageByModel }) => void used.push(usageByModel) }],
  });
  await using model = await startOpenAiServer(busy, busy, say('Here I am.'), busy, refuse(401));
  await using agent = await startTestAgent({ plugins: [meter], env: { ...env, LLM_BASE_URL: model.url } });
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  expect(textOf(await streamTurn(user, sessionId, 'hi'))).toBe('Here I am.');
  expect(used).toEqual([{ small: { inputTokens: 11, outputTokens: 7 } }]);
  expect(findData(await streamTurn(user, sessionId, 'hi'), 'error')).toMatchObject({ code: 'MODEL_FAILED' });
  expect(model.requests.map(({ body }) => body.model)).toEqual(['large', 'middle', 'small', 'large', 'middle']);
});

describe('what goes wrong', () => {
  it('at the provider is an error event with its kind, then done', async () => {
    await using pair = await startPair([refuse(401)]);
    const user = await pair.agent.createUser();
    const events = await streamTurn(user, await user.createSession(), 'hi');
    expect(findData(events, 'error')).toMatchObject({ code: 'MODEL_FAILED', kind: 'model', retryable: false });
    expect(events.at(-1)).toMatchObject({ event: 'done', data: { status: 'failed' } });
  });

  it('in the middle keeps what was said, and no other model is asked', async () => {
    const breakOff: Answer = (response) => {
      openStream(response);
      response.write(toChunk({ content: 'Half an answer' }));
      setTimeout(() => response.destroy(), 50);
    };
    await using pair = await startPair([breakOff], { env: { LLM_FALLBACK_MODELS: 'small' } });
    const user = await pair.agent.createUser();
    const sessionId = await user.createSession();
    await streamTurn(user, sessionId, 'hi');
    const { body } = await user.send('GET', `/messages/${sessionId}`);
    expect(body.messages.at(-1)).toMatchObject({ content: 'Half an answer', status: 'failed' });
    expect(pair.model.requests).toHaveLength(1);
  });

  it('an answer without a word costs what the provider says, each time', async () => {
    const silent = say();
    // One that says nothing of usage is not charged for.
    const broken: Answer = (response) => {
      openStream(response);
      response.end();
    };
    await using pair = await startPair([silent, silent, silent, broken]);
    const user = await pair.agent.createUser();
    const events = await streamTurn(user, await user.createSession(), 'say nothing');
    expect(findData(events, 'error')).toMatchObject({ code: 'MODEL_FAILED', retryable: true });
    await streamTurn(user, await user.createSession(), 'say nothing');
    expect(readRuns(pair.agent)).toMatchObject([
      { status: 'failed', input_tokens: 33, output_tokens: 21 },
      { status: 'failed', input_tokens: 0, output_tokens: 0 },
    ]);
  });

  it('a model that is silent too long', async () => {
    await using pair = await startPair([() => {}], { env: { LLM_TIMEOUT_MS: '1000' } });
    const user = await pair.agent.createUser();
    const events = await streamTurn(user, await user.createSession(), 'hi');
    expect(findData(events, 'error')).toMatchObject({ code: 'MODEL_TIMEOUT', kind: 'timeout', retryable: true });
  });

  it('a model that loops on one tool is stopped', async () => {
    await using pair = await startPair([callTools([{ name: 'add', args: '{"a": 1, "b": 1}' }])], { tools: { add } });
    const user = await pair.agent.createUser();
    const events = await streamTurn(user, await user.createSession(), 'go');
    expect(findData(events, 'error')).toMatchObject({ code: 'TURN_LIMIT_EXCEEDED', kind: 'limit', retryable: false });
    // Twelve with tools, and one that asks for an answer without them.
    expect(pair.model.requests).toHaveLength(13);
    const ids = events.filter(({ event }) => event === 'tool_call').map(({ data }) => data.eventId);
    expect(new Set(ids).size).toBe(12);
  });

  it('a tool that hangs is reported to the model, which continues', async () => {
    const hang: Tools[string] = { ...add, timeoutMs: 100, execute: () => new Promise(() => {}) };
    await using pair = await startPair(
      [
        callTools([
          { name: 'hang', args: '{"a": 1, "b": 1}' },
          { name: 'add', args: '{"a": 1, "b": 1}' },
        ]),
        say('One of them did not answer.'),
      ],
      { tools: { hang, add } },
    );
    const user = await pair.agent.createUser();
    const events = await streamTurn(user, await user.createSession(), 'go');
    expect(textOf(events)).toBe('One of them did not answer.');
    const results = pair.model.requests[1]?.body.messages.filter(({ role }: { role: string }) => role === 'tool');
    expect(results.map(({ content }: { content: string }) => content)).toEqual([
      'TOOL_TIMEOUT: hang did not answer within 0.1 s.',
      '{"sum":2}',
    ]);
  });

  it('wrong arguments: one try to repair them, then the tool is closed', async () => {
    const wrong = callTools([{ name: 'add', args: '{"a": "one"}' }]);
    await using pair = await startPair([wrong, wrong, wrong, say('I cannot add.')], { tools: { add } });
    const user = await pair.agent.createUser();
    const events = await streamTurn(user, await user.createSession(), 'go');
    expect(textOf(events)).toBe('I cannot add.');
    const errors = events.filter(({ data }) => data.status === 'error').map(({ data }) => data.error);
    expect(errors).toEqual([
      expect.stringContaining('try once more'),
      expect.stringContaining('Do not call it again'),
      expect.stringMatching(/^TOOL_UNAVAILABLE/),
    ]);
  });
});

describe('abort', () => {
  it('ends the model call at the provider and keeps what was said', async () => {
    await using pair = await startPair([
      (response) => {
        openStream(response);
        response.write(toChunk({ content: 'Once upon' }));
      },
    ]);
    const user = await pair.agent.createUser();
    const sessionId = await user.createSession();
    const work = streamTurn(user, sessionId, 'a story');
    await waitFor('the model to be asked', () => pair.model.requests.length === 1);
    await waitFor('the answer to have begun', async () => {
      const aborted = await user.send('POST', '/messages/abort', { sessionId });
      return aborted.body.aborted;
    });
    const events = await work;
    expect(events.at(-1)).toMatchObject({ event: 'done', data: { status: 'aborted' } });
    expect(findData(events, 'error')).toBeUndefined();
    await pair.model.requests[0]?.closed;
  });

  it('reaches every tool that runs, and no further call is made', async () => {
    let running = 0;
    const wait: Tools[string] = {
      description: 'Waits',
      inputSchema: z.object({}),
      execute: (_args, { abortSignal }) =>
        new Promise((_resolve, reject) => {
          running += 1;
          abortSignal.addEventListener('abort', () => {
            running -= 1;
            reject(abortSignal.reason);
          });
        }),
    };
    await using pair = await startPair(
      [
        callTools([
          { name: 'wait', args: '{}' },
          { name: 'wait', args: '{}' },
        ]),
      ],
      { tools: { wait } },
    );
    const user = await pair.agent.createUser();
    const sessionId = await user.createSession();
    const work = streamTurn(user, sessionId, 'wait');
    await waitFor('both tools to run', () => running === 2);
    await user.send('POST', '/messages/abort', { sessionId });
    expect((await work).at(-1)).toMatchObject({ data: { status: 'aborted' } });
    expect(running).toBe(0);
    expect(pair.model.requests).toHaveLength(1);
  });
});
