import { limitResponses } from '@palaver/service-kit/internal';
import { describe, expect, it } from 'vitest';
import { type Answer, openStream, say, startOpenAiServer, toFrame } from '../../test/openai-server.ts';
import { agentConfigSchema } from '../config.ts';
import { toStreamError } from '../runs/run.ts';
import { streamModelStep } from '../turn/model-step.ts';
import { createModels } from './create-models.ts';

const prompt = [
  { role: 'system' as const, content: 'You are brief.' },
  { role: 'user' as const, content: [{ type: 'text' as const, text: 'hello' }] },
];
const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather',
  inputSchema: { type: 'object' as const, properties: { place: { type: 'string' as const } } },
};

async function ask(env: Record<string, string>, fetch?: typeof globalThis.fetch) {
  let text = '';
  let reasoning = '';
  const result = await streamModelStep({
    model: createModels(agentConfigSchema.parse(env), fetch && { fetch }).get('main'),
    prompt,
    tools: [weather],
    signal: new AbortController().signal,
    idleMs: 20_000,
    output: {
      text: (delta) => {
        text += delta;
      },
      reasoning: (delta) => {
        reasoning += delta;
      },
    },
  });
  return { ...result, text, reasoning };
}

function anthropicEvents(...events: { type: string }[]): Answer {
  return (response) => {
    openStream(response);
    for (const event of events) response.write(`event: ${event.type}\n${toFrame(event)}`);
    response.end();
  };
}

const messageStart = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 12, output_tokens: 1 },
  },
};

describe('the choice of models', () => {
  const choose = (env: Record<string, string>) => createModels(agentConfigSchema.parse(env));

  it('is offline by default', () => {
    expect(choose({}).list).toEqual({ models: [{ id: 'offline', name: 'offline' }], default: 'offline' });
  });

  it('a message may choose among LLM_MODELS and the default, nothing else', () => {
    const models = choose({ LLM_BASE_URL: 'http://127.0.0.1:1/v1', LLM_MODEL: 'a', LLM_MODELS: 'b, a,c' });
    expect(models.list).toEqual({ models: ['a', 'b', 'c'].map((id) => ({ id, name: id })), default: 'a' });
    expect(models.choose(undefined).modelId).toBe('a');
    expect(models.choose('c').modelId).toBe('c');
    expect(() => models.choose('d')).toThrowError(expect.objectContaining({ code: 'MODEL_UNKNOWN', statusCode: 400 }));
  });

  it('roles have models of their own, or the main one', () => {
    const models = choose({ LLM_BASE_URL: 'http://127.0.0.1:1/v1', LLM_MODEL: 'a', LLM_UTILITY_MODEL: 'small' });
    expect(models.get('utility').modelId).toBe('small');
    expect(models.get('subagent').modelId).toBe('a');
  });

  it('a provider without its key stops the start', () => {
    const { error } = agentConfigSchema.safeParse({ LLM_PROVIDER: 'anthropic' });
    expect(error?.issues).toMatchObject([{ path: ['LLM_API_KEY'] }]);
  });
});

it('LLM_BASE_URL alone is enough: chat completions with tools and usage asked for', async () => {
  await using server = await startOpenAiServer(say('Good day.'));
  const { text } = await ask({ LLM_BASE_URL: server.url, LLM_API_KEY: 'sk-test' });
  expect(text).toBe('Good day.');
  const [request] = server.requests;
  expect(request?.path).toBe('/v1/chat/completions');
  expect(request?.headers.authorization).toBe('Bearer sk-test');
  expect(request?.body).toMatchObject({
    model: 'default',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'You are brief.' },
      { role: 'user', content: 'hello' },
    ],
    tools: [{ type: 'function', function: { name: 'weather' } }],
  });
});

it('without a key none is sent', async () => {
  await using server = await startOpenAiServer(say('Good day.'));
  await ask({ LLM_BASE_URL: server.url });
  expect(server.requests[0]?.headers.authorization).toBeUndefined();
});

describe('openai', () => {
  it('is asked over its responses interface', async () => {
    const item = { type: 'message', id: 'msg_1', role: 'assistant', content: [] };
    await using server = await startOpenAiServer(
      anthropicEvents(
        { type: 'response.created', response: { id: 'r1', created_at: 1, model: 'gpt' } } as never,
        { type: 'response.output_item.added', output_index: 0, item } as never,
        {
          type: 'response.output_text.delta',
          item_id: 'msg_1',
          output_index: 0,
          content_index: 0,
          delta: 'Hi',
        } as never,
        { type: 'response.output_item.done', output_index: 0, item } as never,
        { type: 'response.completed', response: { usage: { input_tokens: 3, output_tokens: 2 } } } as never,
      ),
    );
    // The address is OpenAI's own; only the last step of the way leads here.
    const seen: string[] = [];
    const { text, usage } = await ask({ LLM_PROVIDER: 'openai', LLM_API_KEY: 'sk-test' }, (input, init) => {
      seen.push(String(input));
      return fetch(`${server.url}/responses`, init);
    });
    expect(seen).toEqual(['https://api.openai.com/v1/responses']);
    expect(server.requests[0]?.headers.authorization).toBe('Bearer sk-test');
    expect({ text, usage }).toEqual({ text: 'Hi', usage: { inputTokens: 3, outputTokens: 2 } });
  });
});

describe('anthropic', () => {
  const env = (url: string) => ({ LLM_PROVIDER: 'anthropic', LLM_API_KEY: 'sk-ant', LLM_BASE_URL: url });

  it('answers, reasons, calls tools and reports its usage', async () => {
    await using server = await startOpenAiServer(
      anthropicEvents(
        messageStart,
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'thinking', thinking: '', signature: '' },
        } as never,
        { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } } as never,
        { type: 'content_block_stop', index: 0 } as never,
        { type: 'ping' },
        { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } } as never,
        { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Let me look.' } } as never,
        { type: 'content_block_stop', index: 1 } as never,
        {
          type: 'content_block_start',
          index: 2,
          content_block: { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
        } as never,
        { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"pla' } } as never,
        {
          type: 'content_block_delta',
          index: 2,
          delta: { type: 'input_json_delta', partial_json: 'ce":"Bonn"}' },
        } as never,
        { type: 'content_block_stop', index: 2 } as never,
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 30 } } as never,
        { type: 'message_stop' },
      ),
    );
    const answer = await ask(env(server.url));
    expect(answer).toMatchObject({
      text: 'Let me look.',
      reasoning: 'Hm.',
      toolCalls: [{ name: 'weather', args: { place: 'Bonn' } }],
      usage: { inputTokens: 12, outputTokens: 30 },
    });
    const [request] = server.requests;
    expect(request?.path).toBe('/v1/messages');
    expect(request?.headers['x-api-key']).toBe('sk-ant');
    expect(request?.body).toMatchObject({ system: [{ text: 'You are brief.' }], tools: [{ name: 'weather' }] });
  });

  it('that is overloaded is asked again', async () => {
    await using server = await startOpenAiServer(
      anthropicEvents({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } as never),
      anthropicEvents(
        messageStart,
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never,
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Back.' } } as never,
        { type: 'content_block_stop', index: 0 } as never,
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } } as never,
        { type: 'message_stop' },
      ),
    );
    expect((await ask(env(server.url))).text).toBe('Back.');
    expect(server.requests).toHaveLength(2);
  });

  it('that breaks off is a failure, not a short answer', async () => {
    await using server = await startOpenAiServer(
      anthropicEvents(
        messageStart,
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never,
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } } as never,
      ),
    );
    const error = await ask(env(server.url)).then(
      () => undefined,
      (reason) => toStreamError(reason),
    );
    expect(error).toMatchObject({ code: 'MODEL_FAILED', kind: 'model', retryable: true });
    expect(server.requests).toHaveLength(1);
  });
});

it('an answer without end is ended by its size', async () => {
  await using server = await startOpenAiServer((response) => {
    openStream(response);
    response.end(`data: ${'x'.repeat(100_000)}`);
  });
  const limited = limitResponses(fetch, 50_000);
  const response = await limited(server.url);
  await expect(response.text()).rejects.toThrow('larger than 50000 bytes');
});
