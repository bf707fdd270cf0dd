import { randomUUID } from 'node:crypto';
import { agentLimits } from '@palaver/contract';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createAuditLog } from '@palaver/store/internal';
import { createTestDatabase, type Engine, engines, waitFor } from '@palaver/test-kit';
import { createDelegation, createSigner } from '@palaver/ucan';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { createSeal } from '../auth/seal.ts';
import { createNoBroadcast } from '../cluster/broadcast.ts';
import { createApprovalStore, type GatedCall } from '../store/approvals.ts';
import { createDelegationStore } from '../store/delegations.ts';
import { agentMigrations } from '../store/migrate.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createSessionStore } from '../store/sessions.ts';
import { createRunApprovals } from './approvals.ts';

/** Approvals of one user, each of a run of its own. */
async function openApprovals(engine: Engine) {
  const opened = new AsyncDisposableStack();
  const database = opened.use(await createTestDatabase(engine));
  const store = await openStore<AgentDatabase>(database.url);
  opened.defer(() => store.close());
  await store.migrate('agent', agentMigrations);
  const [ana, agentDid] = [await createSigner(), (await createSigner()).did()];
  const userDid = ana.did();
  const oracle = { name: 'Test', did: agentDid, keyDid: agentDid, signingDid: agentDid };
  const sessions = createSessionStore(store, oracle);
  const runs = createRunStore(store);
  const seal = createSeal(Buffer.alloc(32));
  const delegations = createDelegationStore(store, { agentDid, seal, referenceOf: (did) => did });
  const approvals = createRunApprovals({
    approvals: createApprovalStore(store, seal),
    runs,
    audit: createAuditLog(store, { service: 'agent', referenceKey: Buffer.alloc(32) }),
    delegations,
    broadcast: createNoBroadcast(),
    logger: createLogger({ name: 'test', level: 'silent' }),
    timeoutMs: 60_000,
    onElsewhere() {},
  });
  return {
    store,
    ana,
    agentDid,
    delegations,
    approvals,
    async beginRun(): Promise<string> {
      const { sessionId } = await sessions.create(userDid, {});
      const runId = randomUUID();
      const createdAt = new Date().toISOString();
      const asked = { type: 'human', content: '', createdAt, status: 'complete', id: randomUUID() } as const;
      const run = { sessionId, userDid, requestId: 'r', instance: 'one', model: 'm', answerId: runId, input: '{}' };
      await runs.begin({ runId, ...run, question: { ...asked, requestId: 'r' } });
      return runId;
    },
    ask: (runId: string, calls: GatedCall[]) =>
      approvals.ask({ runId, epoch: 1, number: 1, said: 0, body: '{}', userDid, calls }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const call = { toolCallId: 'c', toolName: 'open', args: {} };

test.each(engines)('on %s, runs that ask at once are asked for no more than one user may have open', async (engine) => {
  await using opened = await openApprovals(engine);
  const { approvals, beginRun, ask } = opened;
  const most = agentLimits.pendingApprovalsPerUser;
  await ask(await beginRun(), Array(most - 2).fill(call));
  const runIds = [];
  for (let count = 0; count < 6; count += 1) runIds.push(await beginRun());
  const outcomes = await Promise.all(runIds.map((runId) => ask(runId, [call])));
  expect(outcomes.toSorted()).toEqual([...Array(2).fill('asked'), ...Array(4).fill('too-many')]);
  const pending = await Promise.all(runIds.map(async (runId) => (await approvals.pending(runId)).length));
  expect(pending).toEqual(outcomes.map((outcome) => (outcome === 'asked' ? 1 : 0)));
});

test('on PostgreSQL, a delegation that is being stored while a run asks for it is its approval', async () => {
  await using opened = await openApprovals('postgres');
  const { store, ana, agentDid, delegations, approvals, beginRun, ask } = opened;
  const userDid = ana.did();
  const runId = await beginRun();
  const capability = { can: 'vault/open', with: 'ixo:vault' };
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
    asking = ask(runId, [{ ...call, capability }]).finally(() => {
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
