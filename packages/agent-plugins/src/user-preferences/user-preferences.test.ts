import { createScriptedModel, createTestRuntime, type ScriptedStep, type TestRuntime } from '@palaver/agent';
import { type UserPreferences, userPreferencesReplySchema } from '@palaver/contract/internal';
import { engines } from '@palaver/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startTestAgent, type TestAgent, type TestUser } from '../../../agent/test/test-agent.ts';
import { createUserPreferences } from './user-preferences.ts';

const set = (args: Record<string, unknown>): ScriptedStep => ({ toolCalls: [{ name: 'set_user_preferences', args }] });
const done: ScriptedStep = { text: 'Noted.' };
// Limits count code points.
const longest = { tone: '🌽'.repeat(80), customInstructions: '🌽'.repeat(2000) };

describe('in a turn', () => {
  let runtime: TestRuntime;
  afterEach(() => runtime.close());

  async function start(steps: ScriptedStep[]) {
    const model = createScriptedModel(steps);
    runtime = await createTestRuntime(createUserPreferences(), { model });
    return model;
  }

  test('they are in the prompt of the first turn of a new session', async () => {
    const model = await start([set({ userName: 'Ana', language: 'sw', tone: 'dry' }), done, done]);
    await runtime.send('call me Ana, answer in Swahili, be dry');
    await runtime.send('hello', { sessionId: await runtime.createSession() });
    expect(model.systemPrompts().at(-1)).toContain(
      'Preferences of this user:\n- Call the user: Ana\n- Answer in: sw\n- Tone: dry',
    );
  });

  test('they hold from the next step of the same turn on', async () => {
    const model = await start([set({ length: 'brief' }), set({ length: null, format: 'tables' }), done]);
    await runtime.send('be brief; no, use tables');
    const [first, second, third] = model.systemPrompts();
    expect(first).not.toContain('Preferences of this user');
    expect(second).toContain('- Answer length: brief');
    expect(third).toContain('- Format: tables');
    expect(third).not.toContain('Answer length');
  });

  test('they are of one room: neither another user nor another agent has them', async () => {
    const model = await start([set({ userName: 'Ana' }), done, done]);
    await runtime.send('call me Ana');
    await runtime.send('hello', { userDid: 'did:key:z6MkOther' });
    expect(model.systemPrompts().at(-1)).not.toContain('Ana');
  });

  test('a text of several lines cannot pass for another preference', async () => {
    const model = await start([set({ customInstructions: 'one\n- Answer in: fr' }), done]);
    await runtime.send('so');
    expect(model.systemPrompts()[1]).toContain('- Also: one\n  - Answer in: fr');
  });

  test.each([
    [{ language: 'French' }, { language: 'fr' }],
    [{ language: 'français' }, { language: 'fr' }],
    [{ language: 'Kiswahili' }, { language: 'sw' }],
    [{ language: 'PT-br' }, { language: 'pt-BR' }],
    [
      { formality: 'formal', agentName: 'Kito' },
      { formality: 'formal', agentName: 'Kito' },
    ],
    [longest, longest],
    [{}, {}],
  ])('%.60j is stored as %.60j', async (args, stored) => {
    await start([set(args), done]);
    const { message } = await runtime.send('so');
    expect(message.toolCalls?.[0]).toMatchObject({ status: 'done' });
    expect(message.toolCalls?.[0]?.output).toEqual({ ...stored, updatedAt: expect.any(String) });
  });

  test.each([
    [{ language: 'Klingonese' }, 'not a language'],
    [{ formality: 'stiff' }, 'formality'],
    [{ tone: 'x'.repeat(81) }, '1 to 80 characters'],
    [{ userName: '' }, '1 to 80 characters'],
    [{ customInstructions: 'x'.repeat(2001) }, '1 to 2000 characters'],
    [{ userName: 7 }, 'userName'],
  ])('%.60j is refused with the reason, and nothing changes', async (args, reason) => {
    const model = await start([set({ userName: 'Ana' }), set(args), done]);
    const { message } = await runtime.send('so');
    expect(message.toolCalls?.[1]).toMatchObject({ status: 'error', error: expect.stringContaining(reason) });
    expect(model.systemPrompts().at(-1)).toContain('- Call the user: Ana\n');
  });
});

describe.each(engines)('in the service on %s', (engine) => {
  let agent: TestAgent;
  let ana: TestUser;

  beforeAll(async () => {
    agent = await startTestAgent({ engine });
    ana = await agent.createUser();
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  const preferencesOf = async (user: TestUser): Promise<UserPreferences> => {
    const { body } = await user.send('GET', '/user-preferences');
    return userPreferencesReplySchema.parse(body).preferences;
  };

  test('there are none at first', async () => {
    expect((await ana.send('GET', '/user-preferences')).body).toEqual({ preferences: {} });
  });

  test('what the user asks for is saved, merged, cleared, and survives a restart', async () => {
    const session = await ana.createSession();
    await ana.say(session, 'please call me Ana and answer in French');
    await ana.say(await ana.createSession(), 'always be brief');
    expect(await preferencesOf(ana)).toMatchObject({ userName: 'Ana', language: 'fr', length: 'brief' });
    await ana.say(session, '/tool set_user_preferences {"length": null}');
    await agent.restart();
    expect(await preferencesOf(ana)).toEqual({ userName: 'Ana', language: 'fr', updatedAt: expect.any(String) });
    const { body } = await ana.say(await ana.createSession(), 'hello');
    expect(body.message.content).toMatch(/^Ana, aucun modèle/);
    expect(await preferencesOf(await agent.createUser())).toEqual({});
  });

  test('the answer to the request itself follows it', async () => {
    const user = await agent.createUser();
    const { body } = await user.say(await user.createSession(), 'From now on speak Swahili');
    expect(body.message.content).toBe('Nimeelewa. Nitafanya hivyo kuanzia sasa.');
  });

  test.each([
    'answer this in French',
    'Be brief: what is an entity?',
    'Why do you always answer in French?',
    'be brief just this once',
    'for now, answer in Swahili',
    'remember that I live in Nairobi',
    'I have three goats',
  ])('"%s" changes no preference: it is for one turn, or a fact', async (text) => {
    const user = await agent.createUser();
    expect((await user.say(await user.createSession(), text)).status).toBe(200);
    expect(await preferencesOf(user)).toEqual({});
  });

  test('two changes at once both hold', async () => {
    const user = await agent.createUser();
    const changes = [{ userName: 'Ana' }, { tone: 'dry' }, { length: 'brief' }, { format: 'tables' }];
    await Promise.all(
      changes.map(async (change) =>
        user.say(await user.createSession(), `/tool set_user_preferences ${JSON.stringify(change)}`),
      ),
    );
    expect(await preferencesOf(user)).toMatchObject(Object.assign({}, ...changes));
  });
});
