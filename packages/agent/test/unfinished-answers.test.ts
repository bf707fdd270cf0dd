// The provider's bill does not depend on whether somebody waits for the answer.
import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { type Answer, type ModelRequest, openStream, startOpenAiServer, toChunk } from './openai-server.ts';
import { startTestAgent, type TestUser } from './test-agent.ts';

const env = {
  CREDITS_ENABLED: 'true',
  CREDITS_FREE: '100000',
  CREDITS_PRICES: '{"*":{"input":1000,"output":1000}}',
};
const question = 'How many goats are there? '.repeat(200);
/** A token is about four characters. */
const leastCost = question.length / 8;

const silence: Answer = (response) => openStream(response);
const halfAnAnswer: Answer = (response) => {
  openStream(response);
  response.write(toChunk({ content: 'There are ' }));
};
const withoutUsage: Answer = (response) => {
  openStream(response);
  response.end(`${toChunk({ content: 'Twelve.' })}${toChunk({}, 'stop')}data: [DONE]\n\n`);
};

const abort = (user: TestUser, sessionId: string) => user.abort(sessionId);
const remove = (user: TestUser, sessionId: string) => user.send('DELETE', `/sessions/${sessionId}`);

test.each([
  ['is aborted before the first word', silence, abort],
  ['is aborted in the middle', halfAnAnswer, abort],
  ['loses its session before the first word', silence, remove],
  ['loses its session in the middle', halfAnAnswer, remove],
  ['comes from a server that reports no usage', withoutUsage, undefined],
])('an answer that %s costs what was sent to the model', async (_what, answer, stop) => {
  await using model = await startOpenAiServer(answer);
  await using agent = await startTestAgent({ env: { ...env, LLM_BASE_URL: model.url } });
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  const stream = await ana.stream(sessionId, question);
  await waitFor('the model to be asked', () => model.requests.length > 0);
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (answer === halfAnAnswer)
    await waitFor('the first words', async () => (await reader?.read())?.value?.includes('There are '));
  await stop?.(ana, sessionId);
  const { balance } = await waitFor('the booking', async () => {
    const { body } = await ana.send('GET', '/credits');
    return body.held === 0 && body;
  });
  expect(100_000 - balance).toBeGreaterThan(leastCost);
  await reader?.cancel();
});

test('a summary that is aborted costs what was sent to the model', async () => {
  // Answers are streamed, summaries are not.
  const answer: Answer = (response, { body }) => body.stream && withoutUsage(response, { body } as ModelRequest);
  await using model = await startOpenAiServer(answer);
  await using agent = await startTestAgent({
    env: { ...env, LLM_BASE_URL: model.url, LLM_CONTEXT_TOKENS: '2000' },
  });
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  for (let sent = 0; sent < 2; sent += 1) await ana.say(sessionId, question);
  const before = (await ana.send('GET', '/credits')).body.balance;
  const sending = ana.say(sessionId, 'And now?');
  await waitFor('a summary to be asked for', () => model.requests.some(({ body }) => !body.stream));
  await ana.abort(sessionId);
  await sending;
  expect(before - (await ana.send('GET', '/credits')).body.balance).toBeGreaterThan(leastCost);
});
