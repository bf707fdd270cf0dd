// What a client sends for one turn (AG-UI's context and state, instructions) reaches the model in that turn alone.
import { expect, test } from 'vitest';
import { createScriptedModel } from '../src/index.ts';
import { startTestAgent } from './test-agent.ts';

const answers = [{ text: 'one' }, { text: 'two' }, { text: 'three' }];

async function start() {
  const model = createScriptedModel(answers);
  const agent = await startTestAgent({ model });
  const user = await agent.createUser();
  /** The prompt of the newest turn without the system's part. */
  const prompt = () => JSON.stringify(model.calls.at(-1)?.prompt.filter(({ role }) => role !== 'system'));
  return { agent, user, prompt, [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() };
}

test('AG-UI: context and state are of their turn', async () => {
  await using started = await start();
  const { user, prompt } = started;
  const messages: object[] = [];
  const run = async (id: string, more: object) => {
    messages.push({ id, role: 'user', content: id });
    await user.send('POST', '/agui', { threadId: 'farm', runId: id, messages, ...more });
    messages.push({ id: `${id}-answer`, role: 'assistant', content: 'answer' });
  };
  const context = [{ description: 'Page', value: 'goats' }];
  await run('first', { context, state: { count: 12 } });
  expect(prompt()).toMatch(/Page: goats.*count.*12.*first/);
  await run('second', { state: { count: 13 } });
  expect(prompt()).toMatch(/first.*one.*13.*second/);
  expect(prompt()).not.toContain('goats');
  expect(prompt()).not.toContain('12');
  await run('third', {});
  expect(prompt()).toMatch(/first.*one.*second.*two.*third/);
  for (const gone of ['goats', '12', '13']) expect(prompt()).not.toContain(gone);
  const exported = await user.send('GET', '/me/export');
  expect(JSON.stringify(exported.body)).not.toContain('goats');
});

test('AI SDK: the system text is of its turn', async () => {
  await using started = await start();
  const { user, prompt } = started;
  const say = (text: string, system?: string) =>
    user.send('POST', '/api/chat', {
      id: 'chat',
      messages: [{ id: text, role: 'user', parts: [{ type: 'text', text }] }],
      ...(system && { system }),
    });
  await say('first', 'Be brief.');
  expect(prompt()).toMatch(/Be brief.*first/);
  await say('second');
  expect(prompt()).toMatch(/first.*one.*second/);
  expect(prompt()).not.toContain('Be brief');
});

test('OpenAI: instructions of a response are not carried over to the next', async () => {
  await using started = await start();
  const { user, prompt } = started;
  const first = await user.send('POST', '/v1/responses', { input: 'first', instructions: 'Be brief.' });
  expect(prompt()).toMatch(/Be brief.*first/);
  await user.send('POST', '/v1/responses', { input: 'second', previous_response_id: first.body.id });
  expect(prompt()).toMatch(/first.*one.*second/);
  expect(prompt()).not.toContain('Be brief');
});
