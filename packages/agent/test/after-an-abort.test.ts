// What must not happen any more once an abort is confirmed, and what an abort must not end.
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '@palaver/store';
import { createTempDir, engines, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { answerOf, ask, pay } from './ask-approval.ts';
import { createBank, readPaid } from './bank-plugin.ts';
import { readUntil } from './read-frames.ts';
import { createBankInstances } from './start-bank.ts';
import { startTestAgent } from './test-agent.ts';
import { createTestPlugin } from './test-plugin.ts';

describe.each(engines)('on %s', (engine) => {
  it('no tool starts after a confirmed abort, whatever held its call up', async () => {
    await using dir = await createTempDir();
    const held = Promise.withResolvers<void>();
    let isHeld = false;
    const slow = createTestPlugin({
      name: 'slow',
      getMiddlewares: () => [
        {
          async wrapToolCall(call, next) {
            isHeld = true;
            await held.promise;
            return next(call);
          },
        },
      ],
    });
    await using agent = await startTestAgent({ engine, plugins: [createBank(`${dir.path}/paid`), slow] });
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const { frames, asked } = await ask(ana, sessionId, pay(50));
    await answerOf(ana, asked, true);
    await waitFor('the call', () => isHeld);
    expect((await ana.abort(sessionId)).body.aborted).toBe(true);
    held.resolve();
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('aborted');
    await ana.say(sessionId, 'hello');
    expect(readPaid(`${dir.path}/paid`)).toEqual([]);
  });

  it('no tool starts after an abort that another instance confirmed and whose broadcast was lost', async () => {
    await using dir = await createTempDir();
    let onModel = async () => {};
    const between = createTestPlugin({
      name: 'between',
      getMiddlewares: () => [{ afterModel: () => onModel() }],
    });
    await using agent = await startTestAgent({ engine, plugins: [createBank(`${dir.path}/paid`), between] });
    const store = await openStore<never>(agent.databaseUrl);
    const confirmAbort = () => sql`update agent_run set aborting = 1 where ended_at is null`.execute(store.db);
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const { frames, asked } = await ask(ana, sessionId, pay(50));
    await confirmAbort();
    expect((await answerOf(ana, asked, true)).status).toBe(409);
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('aborted');
    onModel = async () => void (await confirmAbort());
    expect((await ana.say(sessionId, pay(5))).body.message).toMatchObject({ status: 'aborted' });
    expect(readPaid(`${dir.path}/paid`)).toEqual([]);
    await store.close();
  });
});

// A rejection that nobody handles ends the process.
it.each([['an abort'], ['SIGTERM']])(
  '%s while a run that waits for its user is taken over does not end the process with a fault',
  async (by) => {
    await using bank = await createBankInstances('sqlite');
    const first = await bank.start();
    const sessionId = await first.user.createSession();
    const { asked, frames } = await ask(first.user, sessionId, pay(50));
    const cut = expect(readUntil(frames, 'done')).rejects.toThrow();
    first.process.kill('SIGKILL');
    await Promise.all([first.process.exited, cut]);
    {
      // As where the process was killed before its user was notified: the next one asks again.
      using db = new DatabaseSync(bank.databaseUrl.replace(/^file:/, ''));
      db.exec('update agent_approval set streamed = 0');
    }
    const second = await bank.start();
    const streamed = () => {
      using db = new DatabaseSync(bank.databaseUrl.replace(/^file:/, ''));
      return db.prepare('select streamed from agent_approval').get()?.streamed === 1;
    };
    await waitFor('the take-over', streamed);
    if (by === 'an abort') {
      expect((await second.user.abort(sessionId)).body.aborted).toBe(true);
      await waitFor('the end', async () => (await second.user.liveRun(sessionId)) === null);
      expect((await answerOf(second.user, asked, true)).status).toBe(409);
    }
    second.process.kill('SIGTERM');
    expect(await second.process.exited).toBe(0);
    expect(bank.paid()).toEqual([]);
  },
);
