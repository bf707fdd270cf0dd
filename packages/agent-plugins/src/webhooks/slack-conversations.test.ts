import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { describe, expect, it } from 'vitest';
import { createSlackStore, slackMigrations } from './slack-conversations.ts';

describe.each(engines)('what is kept of Slack on %s', (engine) => {
  it('an event is taken in once, however many ask at once', async () => {
    await using database = await createTestDatabase(engine);
    const store = await openStore<never>(database.url);
    await store.migrate('agent-webhooks', slackMigrations);
    const slack = createSlackStore(store as never);
    const taken = await Promise.all(Array.from({ length: 8 }, () => slack.takeEvent('Ev1')));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(await slack.takeEvent('Ev1')).toBe(false);
    expect(await slack.takeEvent('Ev2')).toBe(true);
    await store.close();
  });

  it('a thread has one session for each person, the last one kept', async () => {
    await using database = await createTestDatabase(engine);
    const store = await openStore<never>(database.url);
    await store.migrate('agent-webhooks', slackMigrations);
    const slack = createSlackStore(store as never);
    await slack.keepSession('T/C/1', 'did:a', 's1');
    await slack.keepSession('T/C/1', 'did:b', 's2');
    await slack.keepSession('T/C/1', 'did:a', 's3');
    expect(await slack.findSession('T/C/1', 'did:a')).toBe('s3');
    expect(await slack.findSession('T/C/1', 'did:b')).toBe('s2');
    expect(await slack.findSession('T/C/2', 'did:a')).toBeUndefined();
    await store.close();
  });
});
