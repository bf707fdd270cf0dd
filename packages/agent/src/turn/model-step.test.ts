import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  callTools,
  endStream,
  type OpenAiServer,
  openStream,
  refuse,
  say,
  startOpenAiServer,
  toChunk,
  toFrame,
} from '../../test/openai-server.ts';
import { agentConfigSchema } from '../config.ts';
import { createModels } from '../models/create-models.ts';
import { toStreamError } from '../runs/run.ts';
import { type ModelStepOptions, streamModelStep } from './model-step.ts';

interface Outcome {
  text: string;
  reasoning: string;
  result?: Awaited<ReturnType<typeof streamModelStep>>;
  error?: ReturnType<typeof toStreamError>;
}

async function step(server: OpenAiServer, options: Partial<ModelStepOptions> = {}): Promise<Outcome> {
  const config = agentConfigSchema.parse({ LLM_BASE_URL: server.url, LLM_MODEL: 'm' });
  const outcome: Outcome = { text: '', reasoning: '' };
  try {
    outcome.result = await streamModelStep({
      model: createModels(config).get('main'),
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      tools: [],
      signal: new AbortController().signal,
      idleMs: 20_000,
      output: {
        text: (delta) => {
          outcome.text += delta;
        },
        reasoning: (delta) => {
          outcome.reasoning += delta;
        },
      },
      ...options,
    });
  } catch (error) {
    outcome.error = toStreamError(error);
  }
  return outcome;
}

async function stepAgainst(...answers: [Answer, ...Answer[]]): Promise<Outcome & { requests: number }> {
  await using server = await startOpenAiServer(...answers);
  const outcome = await step(server);
  return { ...outcome, requests: server.requests.length };
}

describe('an answer', () => {
  it('comes through as it was said, with what it cost', async () => {
    const { text, result } = await stepAgainst(say('Good ', 'day.'));
    expect(text).toBe('Good day.');
    expect(result).toEqual({
      text: 'Good day.',
      toolCalls: [],
      usage: { inputTokens: 11, outputTokens: 7 },
      content: [{ type: 'text', text: 'Good day.' }],
    });
  });

  it('survives characters cut apart between two packets', async () => {
    const content = 'Ça coûte 5 € 🌍 à Zürich';
    const bytes = Buffer.from(toChunk({ content }));
    const { text } = await stepAgainst(async (response) => {
      openStream(response);
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        if (byte >= 0x80) await sleep(1); // so that the parts of a character do not share a packet
      }
      endStream(response);
    });
    expect(text).toBe(content);
  });

  it('may keep us waiting for its first word', async () => {
    const { text } = await stepAgainst(async (response) => {
      openStream(response);
      response.write(': still loading the model\n\n');
      await sleep(300);
      response.write(toChunk({ content: 'late' }));
      endStream(response);
    });
    expect(text).toBe('late');
  });

  it('may think aloud first', async () => {
    const { reasoning, text } = await stepAgainst((response) => {
      openStream(response);
      response.write(toChunk({ reasoning_content: 'Let me ' }));
      response.write(toChunk({ reasoning_content: 'see.' }));
      response.write(toChunk({ content: 'Yes.' }));
      endStream(response);
    });
    expect({ reasoning, text }).toEqual({ reasoning: 'Let me see.', text: 'Yes.' });
  });

  it('that was filtered is reported as such and not tried again', async () => {
    const { error, requests } = await stepAgainst((response) => {
      openStream(response);
      endStream(response, 'content_filter');
    });
    expect(error).toMatchObject({ code: 'MODEL_FAILED', kind: 'model', retryable: false });
    expect(error?.error).toContain('declined');
    expect(requests).toBe(1);
  });
});

it('a provider that wants to be left alone until a date far away is not asked again', async () => {
  const later = new Date(Date.now() + 3_600_000).toUTCString();
  const { error, requests } = await stepAgainst(refuse(429, { 'retry-after': later }));
  expect(error).toMatchObject({ code: 'RATE_LIMITED', retryable: true });
  expect(requests).toBe(1);
});

describe('tool calls', () => {
  it('are put together from fragments, several side by side', async () => {
    const args = { place: 'Zürich 🌍', days: 3 };
    const { result } = await stepAgainst(
      callTools([
        { name: 'weather', args: JSON.stringify(args) },
        { name: 'time', args: '' },
      ]),
    );
    expect(result?.toolCalls.map(({ name, args }) => ({ name, args }))).toEqual([
      { name: 'weather', args },
      { name: 'time', args: {} },
    ]);
  });

  it('get ids every provider takes, whatever the server numbers them', async () => {
    const { result } = await stepAgainst(
      callTools([
        { name: 'a', args: '{}', id: 'x' },
        { name: 'b', args: '{}', id: 'x' },
      ]),
    );
    const ids = result?.toolCalls.map(({ id }) => id) ?? [];
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9]{9}$/);
  });

  it('with arguments that are no JSON have a fault for the model, and an object in their place', async () => {
    const { result } = await stepAgainst(callTools([{ name: 'weather', args: '{"place": ' }]));
    expect(result?.toolCalls[0]).toMatchObject({ args: {}, fault: 'they are not valid JSON' });
  });

  it('are limited in number', async () => {
    const calls = Array.from({ length: 40 }, () => ({ name: 'a', args: '{}' }));
    const { error } = await stepAgainst(callTools(calls));
    expect(error).toMatchObject({ code: 'TURN_LIMIT_EXCEEDED', kind: 'limit', retryable: false });
  });
});

describe.concurrent('a passing fault before the first word', () => {
  it.each([429, 500, 503])('%i is tried again', async (status) => {
    const { text, requests } = await stepAgainst(refuse(status), say('back'));
    expect({ text, requests }).toEqual({ text: 'back', requests: 2 });
  });

  it('a broken connection is tried again', async () => {
    const { text, requests } = await stepAgainst((response) => response.destroy(), say('back'));
    expect({ text, requests }).toEqual({ text: 'back', requests: 2 });
  });

  it('an error inside the stream is tried again', async () => {
    const { text, requests } = await stepAgainst((response) => {
      openStream(response);
      response.end(toFrame({ error: { message: 'overloaded', type: 'server_error' } }));
    }, say('back'));
    expect({ text, requests }).toEqual({ text: 'back', requests: 2 });
  });

  it('is reported after three tries', async () => {
    const { error, requests } = await stepAgainst(refuse(500));
    expect(error).toMatchObject({ code: 'MODEL_FAILED', kind: 'model', retryable: true });
    expect(requests).toBe(3);
  });

  it('429 for good is a rate limit', async () => {
    const { error } = await stepAgainst(refuse(429));
    expect(error).toMatchObject({ code: 'RATE_LIMITED', kind: 'rate_limit', retryable: true });
  });

  it('is not tried again when the provider asks for a long pause', async () => {
    const { error, requests } = await stepAgainst(refuse(429, { 'retry-after': '120' }));
    expect(error).toMatchObject({ code: 'RATE_LIMITED', retryable: true });
    expect(requests).toBe(1);
  });
});

describe('a lasting fault', () => {
  it.each([400, 401, 404])('%i is reported at once', async (status) => {
    const { error, requests } = await stepAgainst(refuse(status));
    expect(error).toMatchObject({ code: 'MODEL_FAILED', kind: 'model', retryable: false });
    expect(error?.error).toContain(String(status));
    expect(requests).toBe(1);
  });

  it('garbage in place of an answer', async () => {
    const { error, requests } = await stepAgainst((response) => {
      openStream(response);
      response.end('data: {"choices": [oh no\n\ndata: ]]]\n\n');
    });
    expect(error).toMatchObject({ code: 'MODEL_FAILED', kind: 'model', retryable: true });
    expect(requests).toBe(3);
  });

  it('a page in place of a stream', async () => {
    const { error } = await stepAgainst((response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html>please log in</html>');
    });
    expect(error).toMatchObject({ code: 'MODEL_FAILED', kind: 'model' });
  });
});

describe('after the first word', () => {
  it.each<[string, Answer]>([
    ['a broken connection', (response) => setTimeout(() => response.destroy(), 50)],
    ['an early end', (response) => response.end()],
    ['garbage', (response) => response.end('data: {oh no\n\n')],
    ['an error', (response) => response.end(toFrame({ error: { message: 'overloaded' } }))],
  ])('%s ends the turn and nothing is said twice', async (_what, fail) => {
    const { text, error, requests } = await stepAgainst(async (response, request) => {
      openStream(response);
      response.write(toChunk({ content: 'Half an ' }));
      await fail(response, request);
    }, say('never asked for'));
    expect(text).toBe('Half an ');
    expect(error).toMatchObject({ code: 'MODEL_FAILED', kind: 'model', retryable: true });
    expect(requests).toBe(1);
  });
});

describe('a model without measure', () => {
  it('that never answers is given up', async () => {
    await using server = await startOpenAiServer(() => {});
    const { error } = await step(server, { idleMs: 200 });
    expect(error).toMatchObject({ code: 'MODEL_TIMEOUT', kind: 'timeout', retryable: true });
    expect(server.requests).toHaveLength(1);
    await server.requests[0]?.closed;
  });

  it('that falls silent in the middle is given up', async () => {
    await using server = await startOpenAiServer((response) => {
      openStream(response);
      response.write(toChunk({ content: 'so' }));
    });
    const { text, error } = await step(server, { idleMs: 300 });
    expect(text).toBe('so');
    expect(error).toMatchObject({ code: 'MODEL_TIMEOUT', kind: 'timeout' });
    await server.requests[0]?.closed;
  });

  it('that says ten megabytes is cut off, and its connection with it', async () => {
    await using server = await startOpenAiServer(async (response) => {
      openStream(response);
      const chunk = toChunk({ content: 'blah '.repeat(2_000) });
      for (let sent = 0; sent < 1_000 && !response.closed; sent += 1) {
        if (!response.write(chunk)) await Promise.race([sleep(50), server.requests[0]?.closed]);
      }
    });
    const { text, error } = await step(server);
    expect(error).toMatchObject({ code: 'TURN_LIMIT_EXCEEDED', kind: 'limit', retryable: false });
    expect(text.length).toBeLessThanOrEqual(1_000_000);
    await server.requests[0]?.closed;
  });
});

it('an abort cancels the request at the provider and is reported with its reason', async () => {
  await using server = await startOpenAiServer((response) => {
    openStream(response);
    response.write(toChunk({ content: 'so' }));
  });
  const controller = new AbortController();
  const reason = new Error('stopped');
  const config = agentConfigSchema.parse({ LLM_BASE_URL: server.url, LLM_MODEL: 'm' });
  const work = streamModelStep({
    model: createModels(config).get('main'),
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    tools: [],
    signal: controller.signal,
    idleMs: 20_000,
    output: { text: () => controller.abort(reason), reasoning: () => {} },
  });
  await expect(work).rejects.toBe(reason);
  await server.requests[0]?.closed;
});
