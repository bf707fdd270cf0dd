import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createNoBroadcast } from '../cluster/broadcast.ts';
import { agentMigrations } from '../store/migrations.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createRunFollower } from './follow-runs.ts';

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
