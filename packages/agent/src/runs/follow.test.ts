import { randomUUID } from 'node:crypto';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createNoBroadcast } from '../cluster/broadcast.ts';
import { agentMigrations } from '../store/migrate.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createSessionStore } from '../store/sessions.ts';
import { createRunFollower } from './follow.ts';
import { toFrame } from './frames.ts';

test.each(engines)('on %s, with the last follower of a run nothing is left behind', async (engine) => {
  // Counted apart from those of other files in this process. None has to fire.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  await using database = await createTestDatabase(engine);
  const store = await openStore<AgentDatabase>(database.url);
  await store.migrate('agent', agentMigrations);
  const runs = createRunStore(store);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const follower = createRunFollower({ runs, broadcast: createNoBroadcast(), logger });
  await runs.state('warm');
  const before = vi.getTimerCount();
  const run = { userDid: 'did:key:zAna', runId: 'r1', messageId: 'm1' };
  const [first, second] = [await follower.follow(run), await follower.follow(run)];
  expect(first.frames).toBe(second.frames);
  expect(follower.count()).toBe(1);
  expect(vi.getTimerCount()).toBe(before + 2);
  first.leave();
  expect(follower.count()).toBe(1);
  second.leave();
  expect(follower.count()).toBe(0);
  expect(vi.getTimerCount()).toBe(before);
  await store.close();
});

test.each(engines)('on %s, runs that are asked for at once get no more room than there is', async (engine) => {
  await using database = await createTestDatabase(engine);
  const store = await openStore<AgentDatabase>(database.url);
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  await store.migrate('agent', agentMigrations);
  const runs = createRunStore(store);
  const userDid = 'did:key:zAna';
  const oracle = { name: 'Test', did: 'did:key:zAgent', keyDid: 'did:key:zAgent', signingDid: 'did:key:zAgent' };
  const { sessionId } = await createSessionStore(store, oracle).create(userDid, {});
  const body = toFrame(1, 'message', { content: 'x'.repeat(5 * 1024 * 1024) });
  const ids = Array.from({ length: 6 }, () => randomUUID());
  for (const runId of ids) {
    const message = { type: 'human', content: '', createdAt: new Date().toISOString(), status: 'complete' } as const;
    const question = { ...message, id: randomUUID(), requestId: 'r' };
    const run = { runId, sessionId, userDid, requestId: 'r', instance: 'one', model: 'm', question };
    expect(await runs.begin({ ...run, answerId: runId, input: '{}' })).toMatchObject({ kind: 'begun' });
    expect(await runs.addFrames({ runId, epoch: 1 }, { first: 1, last: 1, body })).toBe(true);
  }
  const logger = createLogger({ name: 'test', level: 'silent' });
  const follower = createRunFollower({ runs, broadcast: createNoBroadcast(), logger });
  const followed = await Promise.allSettled(ids.map((runId) => follower.follow({ userDid, runId, messageId: 'm' })));
  const taken = followed.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const { leave } of taken) leave();
  expect(taken.length).toBe(3);
});
