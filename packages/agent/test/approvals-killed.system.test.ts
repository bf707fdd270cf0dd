import { DatabaseSync } from 'node:sqlite';
import { engines, waitFor } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { answerOf, ask, pay, payBySubAgent } from './ask-approval.ts';
import { collectFrames, readFrames, readUntil } from './read-frames.ts';
import { createBankInstances } from './start-bank.ts';

// On PostgreSQL an instance counts as dead after 10 s without a heartbeat.
describe.concurrent.each(engines)('killed on %s', (engine) => {
  test.each([
    ['the agent', pay],
    ['a sub-agent', payBySubAgent],
  ])(
    '%s: while a run waits, it waits on, and the answer runs the tool once; killed in the tool, it is not repeated',
    async (_who, pay) => {
      await using bank = await createBankInstances(engine);
      const { start, paid } = bank;
      const first = await start();
      const sessionId = await first.user.createSession();
      const { asked, frames } = await ask(first.user, sessionId, pay(50));
      const cut = expect(readUntil(frames, 'done')).rejects.toThrow();
      first.process.kill('SIGKILL');
      await Promise.all([first.process.exited, cut]);

      const second = await start();
      expect(await second.user.liveRun(sessionId)).toMatchObject({
        status: 'waiting',
        approvals: [{ approvalId: asked.approvalId }],
      });
      expect((await answerOf(second.user, asked, true)).status).toBe(200);
      const replay = await collectFrames(await second.user.follow(asked.runId));
      expect(replay.at(-1)?.data.status).toBe('complete');
      expect(paid()).toEqual(['ben 50']);

      const crash = await ask(second.user, sessionId, pay(60, 'crash'));
      const lost = expect(readUntil(crash.frames, 'done')).rejects.toThrow();
      await answerOf(second.user, crash.asked, true).catch(() => undefined);
      await Promise.all([second.process.exited, lost]);
      const third = await start();
      await waitFor('the end of the run', async () => (await third.user.liveRun(sessionId)) === null);
      expect((await third.user.messages(sessionId)).at(-1)).toMatchObject({
        status: 'failed',
        approvals: [{ status: 'approved' }],
      });
      expect(paid()).toEqual(['ben 50', 'crash 60']);
    },
  );
});

test.concurrent('asked, but lost with the process before its frame was stored, is asked again after the restart', async () => {
  await using bank = await createBankInstances('sqlite');
  const { start, paid, databaseUrl } = bank;
  const first = await start();
  const sessionId = await first.user.createSession();
  first.process.kill('SIGKILL');
  await first.process.exited;
  const change = (statement: string) => {
    using db = new DatabaseSync(databaseUrl.replace(/^file:/, ''));
    db.exec(statement);
  };
  change(`create trigger lose_frames before insert on agent_frame when new.body like '%approval_request%'
    begin select raise(abort, 'lost'); end`);
  const second = await start();
  const { asked, frames } = await ask(second.user, sessionId, pay(50));
  const cut = expect(readUntil(frames, 'done')).rejects.toThrow();
  second.process.kill('SIGKILL');
  await Promise.all([second.process.exited, cut]);
  change('drop trigger lose_frames');

  const third = await start();
  const again = readFrames(await third.user.follow(asked.runId));
  const repeated = (await readUntil(again, 'approval_request')).at(-1)?.data;
  expect(repeated).toMatchObject({ approvalId: asked.approvalId, status: 'pending' });
  expect((await answerOf(third.user, repeated, true)).status).toBe(200);
  expect((await readUntil(again, 'done')).at(-1)?.data.status).toBe('complete');
  expect(paid()).toEqual(['ben 50']);
});

test.concurrent('answered on another instance: its owner continues, and where that is dead, another one', async () => {
  await using bank = await createBankInstances('postgres');
  const { start, paid } = bank;
  const [one, two] = [await start(), await start()];
  const sessionId = await one.user.createSession();
  const first = await ask(one.user, sessionId, pay(50));
  expect((await answerOf(two.user, first.asked, true)).status).toBe(200);
  expect((await readUntil(first.frames, 'done')).at(-1)?.data.status).toBe('complete');

  const second = await ask(one.user, sessionId, pay(60));
  const cut = expect(readUntil(second.frames, 'done')).rejects.toThrow();
  // The owner cannot read the answer any more when it comes.
  one.process.kill('SIGSTOP');
  expect((await answerOf(two.user, second.asked, true)).status).toBe(200);
  one.process.kill('SIGKILL');
  await Promise.all([one.process.exited, cut]);
  const replay = await collectFrames(await two.user.follow(second.asked.runId));
  expect(replay.at(-1)?.data.status).toBe('complete');
  expect(paid()).toEqual(['ben 50', 'ben 60']);
});
