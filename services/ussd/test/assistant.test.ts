import { createTempDir, createTestDatabase, engines, startProcess, waitFor } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { startAgent } from './agent-fixture.ts';
import { startService, testKey } from './service-fixture.ts';

const other = { phoneNumber: '+254700000002' };

describe('asking the assistant', () => {
  test('each phone number acts under its own key, in its own chat, which continues', async () => {
    await using agent = await startAgent();
    await using service = await startService('sqlite', { AGENT_URL: agent.url });
    expect(await service.say('a', '4')).toBe('CON What would you like to ask?\n0. Back\n*. Exit');
    expect(await service.say('a', '4*How deep?')).toBe(
      'CON You asked: How deep?\n1. Ask another question\n0. Back\n*. Exit',
    );
    expect(await service.say('a', '4*How deep?*1')).toContain('What would you like to ask?');
    expect(await service.say('a', '4*How deep?*1*How wide?')).toContain('You asked: How wide?');
    expect(await service.say('a', '4*How deep?*1*How wide?*0')).toMatch(/^CON Welcome to Palaver/);
    await service.say('b', '4*Me too', other);
    const [first, second, third] = agent.asked;
    expect(agent.asked.map(({ message }) => message)).toEqual(['How deep?', 'How wide?', 'Me too']);
    expect(first?.did).toMatch(/^did:key:z6Mk/);
    expect(first?.metadata).toEqual({ client: 'phone', channel: 'ussd', language: 'en', screenCharacters: 182 });
    expect([second?.did, second?.session]).toEqual([first?.did, first?.session]);
    expect(third?.did).not.toBe(first?.did);
    // The key is the number's for ever: another instance acts under the same one.
    const next = await service.startAnother();
    await next.say('c', '4*Again');
    expect(agent.asked.at(-1)).toMatchObject({ did: first?.did, session: first?.session });
  });

  test('an answer that once took minutes to turn into plain text is shown', async () => {
    await using agent = await startAgent();
    await using service = await startService('sqlite', { AGENT_URL: agent.url });
    for (const [index, piece] of [' ', '#', '*_', '[a]('].entries()) {
      agent.answer = async () => `first ${piece.repeat(60_000)}`;
      expect(await service.say(`a${index}`, '4*Why?')).toMatch(/^CON first/);
    }
  });

  test('a retry sends nothing twice', async () => {
    await using agent = await startAgent();
    await using service = await startService('sqlite', { AGENT_URL: agent.url });
    const replies = await Promise.all([1, 2, 3].map(() => service.say('a', '4*Once?')));
    expect(new Set(replies)).toEqual(new Set(['CON You asked: Once?\n1. Ask another question\n0. Back\n*. Exit']));
    expect(agent.asked).toHaveLength(1);
  });

  test('a slow answer is offered to be shown, in this session and at the next dial', async () => {
    await using agent = await startAgent();
    await using service = await startService('sqlite', { AGENT_URL: agent.url, ASSISTANT_WAIT_MS: '50' });
    const gate = Promise.withResolvers<string>();
    agent.answer = () => gate.promise;
    expect(await service.say('a', '4*Slow?')).toMatch(
      /^CON The assistant is preparing your answer.*\n1\. Show answer\n/,
    );
    expect(await service.say('a', '4*Slow?*1')).toContain('Not ready yet.');
    expect(await service.say('b', '4')).toContain('1. Show answer');
    gate.resolve('Forty-two');
    let text = '4';
    await waitFor('the answer', async () => {
      text += '*1';
      return (await service.say('b', text)).includes('Forty-two');
    });
    // Back leads to the menu above, not to a screen that still says that the answer is being prepared.
    expect(await service.say('b', `${text}*0`)).toMatch(/^CON Welcome/);
    // Shown once, it no longer prevents a new question.
    expect(await service.say('d', '4')).toContain('What would you like to ask?');
    // And a replay of the dialogue that had to wait still says so.
    expect(await service.say('a', '4*Slow?')).toContain('preparing your answer');
  });

  test('a long answer is paged and loses nothing', async () => {
    await using agent = await startAgent();
    await using service = await startService('sqlite', { AGENT_URL: agent.url });
    const words = Array.from({ length: 300 }, (_, i) => `word${i}`);
    agent.answer = async () => words.join(' ');
    expect(await service.say('b', '4*Long?*1')).toMatch(/^CON Not a choice\..*\nword0 /);
    let text = '4*Long?';
    const seen: string[] = [];
    while (true) {
      const screen = await service.say('a', text);
      seen.push(...(screen.match(/word\d+/g) ?? []));
      if (!screen.includes('98. More')) break;
      text += '*98';
    }
    expect(seen).toEqual(words);
    expect(await service.say('a', `${text}*1`)).toContain('What would you like to ask?');
  });

  test('a chat that the agent no longer has is opened again', async () => {
    await using agent = await startAgent();
    await using service = await startService('sqlite', { AGENT_URL: agent.url });
    await service.say('a', '4*One?');
    agent.forgetSessions();
    expect(await service.say('b', '4*Two?')).toContain('You asked: Two?');
    expect(agent.asked[1]?.session).not.toBe(agent.asked[0]?.session);
  });

  test('an agent that is unreachable or answers nonsense is reported in a plain sentence, and the rest works', async () => {
    const agent = await startAgent();
    await using service = await startService('sqlite', { AGENT_URL: agent.url });
    agent.answer = async () => '';
    expect(await service.say('a', '4*Hello?')).toContain('The assistant cannot be reached right now.');
    await agent[Symbol.asyncDispose]();
    expect(await service.say('b', '4*Hello?')).toContain('The assistant cannot be reached right now.');
    expect(await service.say('b', '4*Hello?*0')).toMatch(/^CON Welcome/);
    expect(await service.say('c', '1')).toContain('About Palaver');
  });

  test.each(engines)(
    'an answer that came while the service was down is fetched at the next dial: %s',
    async (engine) => {
      await using database = await createTestDatabase(engine);
      await using dir = await createTempDir();
      await using agent = await startAgent();
      const env = {
        DATABASE_URL: database.url,
        DATA_DIR: dir.path,
        AGENT_URL: agent.url,
        ASSISTANT_WAIT_MS: '50',
        PIN_ENCRYPTION_KEY: testKey,
        PORT: '0',
      };
      const main = new URL('../src/main.ts', import.meta.url).pathname;
      const first = startProcess(process.execPath, [main], { env });
      await first.printed(/listening on http:\S+/);
      const url = /listening on (http:[^\s"]+)/.exec(first.output())?.[1] ?? '';
      const gate = Promise.withResolvers<string>();
      agent.answer = () => gate.promise;
      const body = { sessionId: 'a', serviceCode: '*1234#', phoneNumber: '+254700000001', text: '4*Slow?' };
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(`${url}/api/ussd`, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(await reply.text()).toContain('preparing your answer');
      await waitFor('the question at the agent', () => agent.asked.length === 1);
      first.kill('SIGKILL');
      await first.exited;

      await using service = await startService('sqlite', env);
      expect(await service.say('b', '4')).toContain('1. Show answer');
      expect(await service.say('b', '4*1')).toContain('Not ready yet.');
      gate.resolve('Forty-two');
      await waitFor('the answer at the agent', async () =>
        (await service.say(`c${Math.random()}`, '4*1')).includes('Forty-two'),
      );
      expect(agent.asked).toHaveLength(1);
      expect(await service.say('d', '4')).toContain('What would you like to ask?');
    },
  );
});
