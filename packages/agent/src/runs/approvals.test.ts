import { randomUUID } from 'node:crypto';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createAuditLog } from '@palaver/store/internal';
import { createTestDatabase, waitFor } from '@palaver/test-kit';
import { createDelegation, createSigner } from '@palaver/ucan';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { createSeal } from '../auth/seal.ts';
import { createNoBroadcast } from '../cluster/broadcast.ts';
import { createApprovalStore } from '../store/approvals.ts';
import { createDelegationStore } from '../store/delegations.ts';
import { agentMigrations } from '../store/migrate.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createSessionStore } from '../store/sessions.ts';
import { createRunApprovals } from './approvals.ts';

test('on PostgreSQL, a delegation that is being stored while a run asks for it is its approval', async () => {
  await using database = await createTestDatabase('postgres');
  const store = await openStore<AgentDatabase>(database.url);
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  await store.migrate('agent', agentMigrations);
  const [ana, agentDid] = [await createSigner(), (await createSigner()).did()];
  const userDid = ana.did();
  const oracle = { name: 'Test', did: agentDid, keyDid: agentDid, signingDid: agentDid };
  const { sessionId } = await createSessionStore(store, oracle).create(userDid, {});
  const runs = createRunStore(store);
  const seal = createSeal(Buffer.alloc(32));
  const approvals = createRunApprovals({
    approvals: createApprovalStore(store, seal),
    runs,
    audit: createAuditLog(store, { service: 'agent', referenceKey: Buffer.alloc(32) }),
    delegations: createDelegationStore(store, { agentDid, seal, referenceOf: (did) => did }),
    broadcast: createNoBroadcast(),
    logger: createLogger({ name: 'test', level: 'silent' }),
    timeoutMs: 60_000,
    onElsewhere() {},
  });
  const delegations = createDelegationStore(store, { agentDid, seal, referenceOf: (did) => did });
  const runId = randomUUID();
  const at = new Date().toISOString();
  const question = { type: 'human', content: '', createdAt: at, status: 'complete', id: randomUUID() } as const;
  const run = { runId, sessionId, userDid, requestId: 'r', instance: 'one', model: 'm', answerId: runId, input: '{}' };
  await runs.begin({ ...run, question: { ...question, requestId: 'r' } });
  const capability = { can: 'vault/open', with: 'ixo:vault' };
  const call = { toolCallId: 'c', toolName: 'open', args: {}, capability };
  const { serialized, cid, expiresAt } = await createDelegation({
    issuer: ana,
    audience: agentDid,
    capabilities: [capability],
  });
  const stored = { token: serialized, cid, expiration: expiresAt, capabilities: [capability] };

  let isAsked = false;
  let asking: Promise<unknown> = Promise.resolve();
  await delegations.put(userDid, stored, async (trx) => {
    expect(await approvals.grant(trx, userDid, () => true)).toEqual([]);
    asking = approvals.ask({ runId, epoch: 1, number: 1, said: 0, body: '{}', userDid, calls: [call] }).finally(() => {
      isAsked = true;
    });
    await waitFor('the question, or its wait for the delegation', async () => {
      const { rows } = await sql`select 1 from pg_locks where not granted`.execute(store.db);
      return isAsked || rows.length > 0;
    });
  });
  expect(await asking).toBe('asked');
  expect(await approvals.pending(runId)).toEqual([]);
});
