import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunStatus } from '@palaver/contract';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { describe, expect, it } from 'vitest';
import { applyTransition, type RunRow } from '../../test/model/apply-transition.ts';
import { agentMigrations } from '../store/migrate.ts';
import { createRunTransitions, type Params } from '../store/run-transitions.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { type Condition, type TransitionName, transitions } from './transitions.ts';

const statuses: RunStatus[] = ['queued', 'running', 'waiting', 'complete', 'aborted', 'failed'];
const both = [false, true];

interface Case extends RunRow {
  id: string;
  hasPending: boolean;
  hasEarlier: boolean;
}

/** Every state of a row that a statement distinguishes, each in a session of its own. */
const cases: Case[] = statuses
  .flatMap((status) => ['', 'alive', 'dead'].map((instance) => ({ status, instance })))
  .flatMap((row) => both.map((isAborting) => ({ ...row, isAborting })))
  .flatMap((row) => both.map((hasPending) => ({ ...row, hasPending })))
  .flatMap((row) => both.map((hasEarlier) => ({ ...row, hasEarlier })))
  .map((row, index) => ({ ...row, id: `run ${index}`, epoch: 2, deaths: 0 }));

/** What a caller may say: its epoch, who it is, whether it is alone, how old its request is, which run replaces. */
const callers = [
  { epoch: 2, instance: 'me', isAlone: 0, elapsedMs: 0, number: 9 },
  { epoch: 1, instance: 'dead', isAlone: 0, elapsedMs: 1_000_000, number: 8 },
  { epoch: 3, instance: 'me', isAlone: 1, elapsedMs: 0, number: 9 },
  { epoch: 2, instance: 'dead', isAlone: 0, elapsedMs: 1_000_000, number: 8 },
  { epoch: 2, instance: 'me', isAlone: 1, elapsedMs: 0, number: 9 },
];

function holdsFor({ instance, hasPending, hasEarlier }: Case, caller: (typeof callers)[number]) {
  const isDead = instance !== caller.instance && (caller.isAlone === 1 || instance !== 'alive');
  const answers: Record<Exclude<Condition, 'not-aborting'>, boolean> = {
    'first-of-session': !hasEarlier,
    'nothing-pending': !hasPending,
    'older-than-request': caller.elapsedMs === 0,
    replaced: caller.number === 9,
    'owner-dead': isDead,
  };
  return (condition: Condition) => answers[condition as keyof typeof answers];
}

describe.each(engines)('the table of transitions on %s', (engine) => {
  it('is what its statements do, for every state of a row', { timeout: 120_000 }, async () => {
    await using opened = new AsyncDisposableStack();
    const database = opened.use(await createTestDatabase(engine));
    const store = await openStore<AgentDatabase>(database.url);
    opened.defer(() => store.close());
    await store.migrate('agent', agentMigrations);
    await insertCases(store.db);
    const { define } = createRunTransitions(store);
    const names = (Object.keys(transitions) as TransitionName[]).filter((name) => name !== 'begin');
    const seen: Record<string, Set<boolean>> = {};
    for (const name of names) {
      const move = define(name) as (params: Params[typeof name], trx: typeof store.db) => Promise<unknown[]>;
      for (const caller of callers) {
        const rolledBack = store.db.transaction().execute(async (trx) => {
          for (const { id } of cases)
            await move({ ...caller, runId: id, sessionId: `session of ${id}`, inputTokens: 1, outputTokens: 1 }, trx);
          throw await trx.selectFrom('agent_run').selectAll().where('number', '=', 2).execute();
        });
        const after = (await rolledBack.catch((rows) => rows)) as AgentDatabase['agent_run'][];
        const rows = new Map(
          after.map(({ id, status, instance, epoch, deaths, aborting }) => [
            String(id),
            { status, instance, epoch, deaths, isAborting: Number(aborting) === 1 },
          ]),
        );
        for (const row of cases) {
          const { status, instance, epoch, deaths, isAborting } = row;
          const before = { status, instance, epoch, deaths, isAborting };
          const moved = applyTransition(name, before, { ...caller, holds: holdsFor(row, caller) });
          seen[name] = (seen[name] ?? new Set()).add(moved !== undefined);
          expect(rows.get(row.id), `${name} by ${JSON.stringify(caller)} of ${JSON.stringify(row)}`).toEqual(
            moved ?? before,
          );
        }
      }
    }
    // Each of them is done for some state and refused for another.
    expect(Object.entries(seen).filter(([, outcomes]) => outcomes.size < 2)).toEqual([]);
  });

  async function insertCases(db: Awaited<ReturnType<typeof openStore<AgentDatabase>>>['db']): Promise<void> {
    const now = Date.now() - 1_000;
    await db
      .insertInto('agent_instance')
      .values({ id: 'alive', seen_at: now + 3_600_000 })
      .execute();
    for (const { id, status, instance, isAborting, hasPending, hasEarlier, epoch } of cases) {
      const session_id = `session of ${id}`;
      const session = { id: session_id, user_did: 'u', title: '', named: 0, room_id: 'r', metadata: null };
      await db
        .insertInto('agent_session')
        .values({ ...session, created_at: now, updated_at: now })
        .execute();
      await db.insertInto('agent_replaced').values({ session_id, first: 0, last: 18 }).execute();
      const hasEnded = ['complete', 'aborted', 'failed'].includes(status);
      const row = {
        session_id,
        user_did: 'u',
        request_id: 'r',
        message_id: 'm',
        instance,
        model: 'm',
        input: null,
        epoch,
        input_tokens: null,
        output_tokens: null,
        created_at: now,
        started_at: null,
        changed_at: null,
      };
      await db
        .insertInto('agent_run')
        .values({
          ...row,
          id,
          status,
          number: 2,
          aborting: isAborting ? 1 : 0,
          active: status === 'running' ? 1 : null,
          ended_at: hasEnded ? now : null,
        })
        .execute();
      if (hasEarlier)
        await db
          .insertInto('agent_run')
          .values({ ...row, id: `before ${id}`, status: 'queued', number: 1, active: null, ended_at: null })
          .execute();
      if (!hasPending) continue;
      const asked = { call_id: 'c', tool_name: 't', args: '{}', asked_at: now, expires_at: now, user_did: 'u' };
      const unanswered = { answered_at: null, answered_by: null, reason: null };
      await db
        .insertInto('agent_approval')
        .values({
          ...asked,
          ...unanswered,
          id,
          run_id: id,
          status: 'pending',
          capability: null,
          invocation: null,
          signed: null,
        })
        .execute();
    }
  }
});

it('nothing else writes the row of a run', async () => {
  const root = join(import.meta.dirname, '..');
  const writes =
    /(update|insert into|delete from) agent_run\b|(updateTable|insertInto|deleteFrom)\('agent_run'|remove\('agent_run'|table: 'agent_run', .*where/g;
  const found: string[] = [];
  for await (const path of glob('**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] })) {
    for (const [write] of (await readFile(join(root, path), 'utf8')).matchAll(writes)) found.push(`${path}: ${write}`);
  }
  expect(found.sort()).toEqual([
    // With a user, and once a run has ended and its time is over.
    expect.stringMatching(/^store\/personal-data\.ts: table: 'agent_run'/),
    "store/retention.ts: remove('agent_run'",
    'store/run-transitions.ts: insert into agent_run',
    'store/run-transitions.ts: update agent_run',
  ]);
});
