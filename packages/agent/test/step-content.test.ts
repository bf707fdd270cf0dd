// What a provider attaches to its words goes back to it in the next step, byte for byte.

import type { ServerResponse } from 'node:http';
import { createGoogle } from '@ai-sdk/google';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin } from '../src/define/plugin.ts';
import type { Tools } from '../src/define/tool.ts';
import { type Answer, endStream, openStream, say, startOpenAiServer, toChunk, toFrame } from './openai-server.ts';
import { startTestAgent } from './test-agent.ts';

const weather: Tools[string] = {
  description: 'The weather',
  inputSchema: z.object({ place: z.string() }),
  execute: () => ({ sky: 'clear' }),
};

const plugin = defineOraclePlugin({
  name: 'test-tools',
  version: '1.0.0',
  manifest: { title: 'Tools', summary: 'Tools.', whenToUse: [], visibility: 'silent', stability: 'stable' },
  getTools: () => ({ weather }),
});

/** Asks twice in one session, with the provider's answers in order; gives what it was sent. */
async function converse(answers: [Answer, ...Answer[]], env: Record<string, string> = {}) {
  await using model = await startOpenAiServer(...answers);
  await using agent = await startTestAgent({ plugins: [plugin], env: { LLM_BASE_URL: model.url, ...env } });
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  const { body } = await user.say(sessionId, 'how is the weather?');
  expect(body.message).toMatchObject({ status: 'complete', content: 'Clear.' });
  await user.say(sessionId, 'thanks');
  return model.requests.map((request) => request.body.messages);
}

it('reasoning and signatures of an OpenAI-compatible provider', async () => {
  const think: Answer = (response) => {
    openStream(response);
    response.write(toChunk({ reasoning_content: 'They want ' }));
    response.write(toChunk({ reasoning_content: 'the weather.' }));
    const call = {
      index: 0,
      id: 'provider-call-1',
      type: 'function',
      function: { name: 'weather', arguments: '{"place":"Turin"}' },
      extra_content: { google: { thought_signature: 'c2lnbmF0dXJl' } },
    };
    response.write(toChunk({ tool_calls: [call] }));
    endStream(response, 'tool_calls');
  };
  const [, second, third] = await converse([think, say('Clear.'), say('Welcome.')]);
  const [said, result] = second.slice(-2);
  expect(said).toMatchObject({ role: 'assistant', reasoning_content: 'They want the weather.' });
  expect(said.tool_calls).toMatchObject([
    { id: 'provider-call-1', extra_content: { google: { thought_signature: 'c2lnbmF0dXJl' } } },
  ]);
  expect(result).toMatchObject({ role: 'tool', tool_call_id: 'provider-call-1' });
  // A later turn is a new train of thought.
  expect(JSON.stringify(third)).not.toContain('They want');
});

it('signed and redacted thinking of Anthropic', async () => {
  const send = (response: ServerResponse, events: { type: string }[]) => {
    openStream(response);
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  };
  const usage = { input_tokens: 5, output_tokens: 5 };
  const start = { type: 'message_start', message: { id: 'm', role: 'assistant', model: 'm', content: [], usage } };
  const end = (reason: string) => [
    { type: 'message_delta', delta: { stop_reason: reason }, usage },
    { type: 'message_stop' },
  ];
  const block = (index: number, content_block: object, ...deltas: object[]) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const speak =
    (text: string): Answer =>
    (response) =>
      send(response, [
        start,
        ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text }),
        ...end('end_turn'),
      ]);
  const think: Answer = (response) =>
    send(response, [
      start,
      ...block(
        0,
        { type: 'thinking', thinking: '' },
        { type: 'thinking_delta', thinking: 'They want the weather.' },
        { type: 'signature_delta', signature: 'signed' },
      ),
      ...block(1, { type: 'redacted_thinking', data: 'hidden' }),
      ...block(
        2,
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
        { type: 'input_json_delta', partial_json: '{"place":"Turin"}' },
      ),
      ...end('tool_use'),
    ]);
  const env = { LLM_PROVIDER: 'anthropic', LLM_API_KEY: 'k', LLM_MODEL: 'claude-sonnet-4-5' };
  const [, second] = await converse([think, speak('Clear.'), speak('Welcome.')], env);
  expect(second.at(-2).content).toMatchObject([
    { type: 'thinking', thinking: 'They want the weather.', signature: 'signed' },
    { type: 'redacted_thinking', data: 'hidden' },
    { type: 'tool_use', name: 'weather', input: { place: 'Turin' } },
  ]);
  expect(second.at(-1).content[0].tool_use_id).toBe(second.at(-2).content[2].id);
});

it('thought signatures of Google', async () => {
  const speak =
    (...parts: object[]): Answer =>
    (response) => {
      openStream(response);
      for (const part of parts)
        response.write(toFrame({ candidates: [{ content: { role: 'model', parts: [part] } }] }));
      response.end(toFrame({ candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] }));
    };
  const thought = { text: 'They want the weather.', thought: true, thoughtSignature: 'c2lnbmVkLXRob3VnaHQ=' };
  const call = (place: string) => ({ functionCall: { name: 'weather', args: { place } } });
  const signedCall = { ...call('Turin'), thoughtSignature: 'c2lnbmVkLWNhbGw=' };
  await using server = await startOpenAiServer(
    speak(thought, signedCall, call('Nairobi')),
    speak({ text: 'Clear.', thoughtSignature: 'c2lnbmVkLXRleHQ=' }),
  );
  const model = createGoogle({ baseURL: server.url, apiKey: 'k' })('gemini-3-pro-preview');
  await using agent = await startTestAgent({ plugins: [plugin], model });
  const user = await agent.createUser();
  const { body } = await user.say(await user.createSession(), 'how is the weather?');
  expect(body.message).toMatchObject({ status: 'complete', content: 'Clear.' });
  const said = server.requests[1]?.body.contents.at(-2);
  expect(said).toMatchObject({ role: 'model', parts: [thought, signedCall, call('Nairobi')] });
  expect(said.parts[2]).not.toHaveProperty('thoughtSignature');
});
