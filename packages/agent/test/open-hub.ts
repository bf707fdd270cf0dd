import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createAuditLog } from '@palaver/store/internal';
import { createTestDatabase, type Engine } from '@palaver/test-kit';
import { createSeal } from '../src/auth/seal.ts';
import { createNoBroadcast } from '../src/cluster/broadcast.ts';
import { createSessionClients } from '../src/cluster/session-clients.ts';
import { createRunApprovals } from '../src/runs/approvals.ts';
import { createTurnHub, type TurnHubParts } from '../src/runs/hub.ts';
import { createBlobStore, type Turn } from '../src/runs/input.ts';
import { createApprovalStore } from '../src/store/approvals.ts';
import { agentMigrations } from '../src/store/migrate.ts';
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
      audit,
      delegations: { afterRecording: async () => {}, findUsable: async () => ({ usable: [] }) },
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
    logger,
    hub,
    turn,
    submit: () => hub.begin(turn),
    async [Symbol.asyncDispose]() {
      await hub.close(0);
      await audit.close();
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
