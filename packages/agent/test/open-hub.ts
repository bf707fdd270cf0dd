import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createAuditLog } from '@palaver/store/internal';
import { createTestDatabase, type Engine } from '@palaver/test-kit';
import { createSeal } from '../src/auth/seal.ts';
import { createNoBroadcast } from '../src/cluster/broadcast.ts';
import { createRunApprovals } from '../src/run/run-approvals.ts';
import { createSessionClients } from '../src/run/session-clients.ts';
import type { Turn } from '../src/run/turn.ts';
import { createBlobStore } from '../src/run/turn-blobs.ts';
import { createTurnHub, type TurnHubParts } from '../src/run/turn-hub.ts';
import { createApprovalStore } from '../src/store/approvals.ts';
import { createInterruptedRuns } from '../src/store/interrupted-runs.ts';
import { agentMigrations } from '../src/store/migrations.ts';
import { createRunStore } from '../src/store/runs.ts';
import type { AgentDatabase } from '../src/store/schema.ts';
import { createSessionStore } from '../src/store/sessions.ts';

/** A hub on a database of its own, with a session of one user. */
export async function openHub(engine: Engine, parts: Partial<TurnHubParts> = {}) {
  const database = await createTestDatabase(engine);
  const store = await openStore<AgentDatabase>(database.url);
  await store.migrate('agent', agentMigrations);
  const oracle = { name: 'Test', did: 'did:key:zAgent', keyDid: 'did:key:zAgent', signingDid: 'did:key:zAgent' };
  const session = await createSessionStore(store, oracle).create('did:key:zAna', {});
  const broadcast = createNoBroadcast();
  const runs = createRunStore(store);
  const interrupted = createInterruptedRuns(store);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const audit = createAuditLog(store, { service: 'agent', referenceKey: Buffer.alloc(32) });
  const hub = createTurnHub({
    instance: 'test',
    broadcast,
    runs,
    logger,
    turnTimeoutMs: 10_000,
    execute: async () => 'answered',
    approvals: createRunApprovals({
      approvals: createApprovalStore(store, createSeal(Buffer.alloc(32))),
      runs,
      interrupted,
      audit,
      delegations: { findUsable: async () => ({ usable: [] }) },
      broadcast,
      logger,
      timeoutMs: 10_000,
      onElsewhere() {},
    }),
    clients: createSessionClients(broadcast),
    ...parts,
  });
  const turn: Turn = {
    sendId: 's',
    session: { ...session, isNamed: false },
    user: { did: 'did:key:zAna' },
    requestId: 'r',
    body: { message: 'hello', stream: false, returnAllMessages: false },
    model: 'offline',
    timezone: undefined,
    secrets: {},
    blobs: createBlobStore(),
  };
  return {
    store,
    runs,
    interrupted,
    logger,
    hub,
    turn,
    submit: () => hub.submit(turn),
    async [Symbol.asyncDispose]() {
      await hub.close(0);
      await audit.close();
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
