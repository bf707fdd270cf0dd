// How a page's own logic is tested without a server: the agent is a script.
import { createAgentApi, createChat, type OracleError } from '@palaver/oracles-client-sdk/core';
import { createFakeAgent, type FakeAgentOptions } from '@palaver/oracles-client-sdk/testing';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

async function openChat(answers: FakeAgentOptions['answers'], tools = {}) {
  const agent = createFakeAgent({ answers: answers ?? [] });
  const { sessionId } = await createAgentApi(agent.transport).createSession();
  const errors: OracleError[] = [];
  const chat = createChat({
    transport: agent.transport,
    socketUrl: agent.url,
    sessionId,
    clientTools: () => ({ browserTools: tools }),
    onError: (error) => errors.push(error),
  });
  onTestFinished(chat.start());
  await chat.refetch();
  return { agent, chat, errors };
}

it('answers in order, with calls of tools here and on the page', async () => {
  const fields = {
    toolName: 'count_fields',
    description: 'Counts the fields.',
    schema: z.object({ crop: z.string() }),
    fn: ({ crop }: { crop: string }) => `3 of ${crop}`,
  };
  const { agent, chat } = await openChat(
    [
      'Hello!',
      [{ reasoning: 'Rain matters.' }, 'It ', { toolCall: { name: 'forecast', output: 'rain' } }, 'rains.'],
      { toolCall: { name: 'count_fields', args: { crop: 'maize' } } },
    ],
    { fields },
  );
  for (const text of ['Good morning', 'And the weather?', 'How many fields?']) await chat.send(text);
  const [, hello, , weather, , counted] = chat.get().messages;
  expect(hello).toMatchObject({ content: 'Hello!', status: 'complete' });
  expect(weather).toMatchObject({ content: 'It rains.', reasoning: 'Rain matters.' });
  expect(weather?.parts?.map(({ type }) => type)).toEqual(['reasoning', 'text', 'tool_call', 'text']);
  expect(counted?.toolCalls).toMatchObject([{ name: 'count_fields', status: 'done', output: '3 of maize' }]);
  expect(agent.messages.map(({ message }) => message)).toEqual([
    'Good morning',
    'And the weather?',
    'How many fields?',
  ]);
  expect((await chat.refetch()).map(({ id }) => id)).toEqual(chat.get().messages.map(({ id }) => id));
});

it('fails, refuses, breaks off and asks first, as scripted', async () => {
  const { chat, errors } = await openChat([
    ['So far', { error: { code: 'MODEL_FAILED', message: 'The model failed.', retryable: true } }],
    { refuse: { status: 429, code: 'RATE_LIMITED', retryAfterSeconds: 7 } },
    ['one ', { disconnect: true }, 'two'],
    [{ approval: { toolName: 'pay', args: { amount: 5 }, output: 'paid' } }, 'Done.'],
  ]);
  await chat.send('fail');
  expect(chat.get().messages.at(-1)).toMatchObject({ content: 'So far', status: 'failed' });
  await chat.send('too fast');
  expect(errors.map(({ code, status, retryAfterMs }) => [code, status, retryAfterMs])).toEqual([
    ['MODEL_FAILED', 0, undefined],
    ['RATE_LIMITED', 429, 7000],
  ]);
  await chat.send('break off');
  expect(chat.get().messages.at(-1)?.content).toBe('one two');

  const asked = Promise.withResolvers<string>();
  chat.subscribe(() => {
    const approval = chat
      .get()
      .messages.at(-1)
      ?.approvals?.find(({ status }) => status === 'pending');
    if (approval) asked.resolve(approval.approvalId);
  });
  const answered = chat.send('pay');
  await chat.answerApproval(await asked.promise, { approved: true });
  await answered;
  expect(chat.get().messages.at(-1)).toMatchObject({
    content: 'Done.',
    toolCalls: [{ name: 'pay', status: 'done', output: 'paid' }],
  });
});

it('shares a conversation up to a message with a new session', async () => {
  const { agent, chat } = await openChat(['Hello!', 'Maize.']);
  for (const text of ['Good morning', 'What do I sow?']) await chat.send(text);
  const api = createAgentApi(agent.transport);
  const [{ sessionId } = { sessionId: '' }] = (await api.listSessions()).sessions;
  const fork = await api.forkSession(sessionId, chat.get().messages[1]?.storedId ?? '');
  const { messages } = await api.listMessages(fork.sessionId);
  expect(messages.map(({ content }) => content)).toEqual(['Good morning', 'Hello!']);
});

it('is stopped by the user, and continues when a test lets it', async () => {
  const gate = Promise.withResolvers<void>();
  const { chat } = await openChat([
    ['begun ', { until: gate.promise }, 'ended'],
    ['never ', { until: new Promise(() => {}) }],
  ]);
  const first = chat.send('wait');
  gate.resolve();
  await first;
  expect(chat.get().messages.at(-1)?.content).toBe('begun ended');
  const second = chat.send('wait for ever');
  await new Promise<void>((resolve) => {
    const stop = chat.subscribe(() => {
      if (chat.get().messages.at(-1)?.content !== 'never ') return;
      stop();
      resolve();
    });
  });
  await chat.abort();
  await second;
  expect(chat.get().messages.at(-1)).toMatchObject({ content: 'never ', status: 'aborted' });
});
