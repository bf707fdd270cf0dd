import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createNoBroadcast } from '../cluster/broadcast.ts';
import { createBlobStore } from '../plugins/runtime-context.ts';
import { agentMigrations } from '../store/migrations.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createSessionStore } from '../store/sessions.ts';
import { createSessionClients } from './session-clients.ts';
import { RunCancelled } from './stream-error.ts';
import { createTurnHub } from './turn-hub.ts';

// A rejection that nobody hears would fail this run of tests, and end a process in service.
test('a run cancelled at once, before its work begins, ends like any other', async () => {
  await using database = await createTestDatabase('sqlite');
  const store = await openStore<AgentDatabase>(database.url);
  await store.migrate('agent', agentMigrations);
  const oracle = { name: 'Test', did: 'did:key:zAgent', keyDid: 'did:key:zAgent', signingDid: 'did:key:zAgent' };
  const session = await createSessionStore(store, oracle).create('did:key:zAna', {});
  let begun = 0;
  const hub = createTurnHub({
    instance: 'test',
    broadcast: createNoBroadcast(),
    runs: createRunStore(store),
    logger: createLogger({ name: 'test', level: 'silent' }),
    turnTimeoutMs: 10_000,
    async execute() {
      begun += 1;
    },
    clients: createSessionClients(),
  });
  const run = await hub.submit({
    sendId: 's',
    session: { ...session, isNamed: false },
    user: { did: 'did:key:zAna' },
    requestId: 'r',
    body: { message: 'hello', stream: false, returnAllMessages: false },
    model: 'offline',
    timezone: undefined,
    secrets: {},
    blobs: createBlobStore(),
  });
  run.cancel(new RunCancelled('user'));
  expect(await run.answer).toMatchObject({ status: 'aborted', content: '' });
  expect(begun).toBe(0);
  await hub.close(0);
  await store.close();
});
