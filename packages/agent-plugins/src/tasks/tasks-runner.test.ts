import { migrateAgent } from '@palaver/agent/migrate';
import { AppError, type Message } from '@palaver/contract';
import { createLogger } from '@palaver/service-kit';
import { openStore, type Store } from '@palaver/store';
import { createTestDatabase, engines, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTasksPlugin } from './tasks.ts';
import { createTaskRunner, type TaskRunnerParts } from './tasks-runner.ts';
import { planSchedule, type Wanted } from './tasks-schedule.ts';
import { createTaskStore } from './tasks-store.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const userDid = 'did:key:z6MkTask';
type Sent = { userDid: string; text: string; requestId: string };
type Send = (message: Sent & Record<string, unknown>) => Promise<{ status: Message['status'] | 'waiting' | 'queued' }>;
const answered = { status: 'complete' as const };

/** Runs that end as `send` says, in place of the agent's. */
const toOpen =
  (send: Send): TaskRunnerParts['open'] =>
  async ({ body, ...message }) => {
    const sent = send({ ...message, text: body.message });
    sent.catch(() => {});
    // What is refused is refused before the first event.
    const first = await Promise.race([
      sent,
      new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined))),
    ]);
    return {
      runId: 'run',
      sessionId: message.sessionId,
      requestId: message.requestId,
      messageId: 'answer',
      async *events({ signal } = {}) {
        const { status } = first ?? (await sent);
        if (status === 'queued') await new Promise((resolve) => signal?.addEventListener('abort', resolve));
        else if (status === 'waiting') yield { id: 1, name: 'approval_request', data: {} } as never;
        else yield { id: 1, name: 'done', data: { status } } as never;
      },
      approvals: async () => [{} as never],
      answer: () => Promise.reject(new Error('not asked for')),
      state: async () => ({ status: first?.status ?? 'running', changedAt: new Date().toISOString() }),
      question: async () => undefined,
      lastEvent: async () => 0,
      abort: async () => false,
    };
  };

describe.each(engines)('the runner on %s', (engine) => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  // biome-ignore lint/suspicious/noExplicitAny: of sessions and of tasks.
  let store: Store<any>;
  let tasks: ReturnType<typeof createTaskStore>;
  const sessionId = '01890a5d-ac96-774b-bcce-b302099a8057';

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    await migrateAgent({ DATABASE_URL: database.url }, [createTasksPlugin()]);
    store = await openStore(database.url);
    tasks = createTaskStore(store, (client) => `hash of ${client}`);
    const session = {
      id: sessionId,
      user_did: userDid,
      title: 't',
      named: 1,
      room_id: 'r',
      created_at: 0,
      updated_at: 0,
    };
    await store.db.insertInto('agent_session').values(session).execute();
  });
  afterAll(async () => {
    await store.close();
    await database[Symbol.asyncDispose]();
  });

  async function addDue(
    wanted: Wanted,
    dueAt = Date.now() - 1_000,
    prompt = 'feed the goats',
    { of = userDid, client }: { of?: string; client?: string } = {},
  ) {
    const planned = planSchedule(wanted, Date.now());
    if ('error' in planned) throw new Error(planned.error);
    const task = await tasks.add({ userDid: of, sessionId, client }, prompt, { ...planned, nextRunAt: dueAt });
    if (!task) throw new Error('no room');
    return task.id;
  }

  const rowOf = (id: string) =>
    store.db.selectFrom('agent_task').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

  /** One look for what is due, and the end of it. */
  async function runOnce(send: Send, instance = 'one') {
    const runner = createTaskRunner({ tasks, open: toOpen(send), instance, pollMs: 1_000, logger });
    await runner.tick();
    await runner.stop();
  }

  test('tasks of a user run one after the other, and those of others do not wait for them', async () => {
    const ben = 'did:key:z6MkBen';
    for (let index = 0; index < 7; index += 1) await addDue({ in: '1 minute' }, Date.now() - 10_000, `long ${index}`);
    await addDue({ in: '1 minute' }, Date.now() - 1_000, 'short', { of: ben });
    const held = Promise.withResolvers<typeof answered>();
    const sent: string[] = [];
    const send: Send = ({ userDid: did, text }) => {
      sent.push(text.replace('[Scheduled task] ', ''));
      return did === ben ? Promise.resolve(answered) : held.promise;
    };
    const runners = ['one', 'two'].map((instance) =>
      createTaskRunner({ tasks, open: toOpen(send), instance, pollMs: 1_000, logger }),
    );
    for (let round = 0; round < 2; round += 1) for (const runner of runners) await runner.tick();
    expect(sent.sort()).toEqual([expect.stringMatching(/^long \d$/), 'short']);
    held.resolve(answered);
    await Promise.all(runners.map((runner) => runner.stop()));
    for (let left = 6; left > 0; left -= 1) await runOnce(send);
    expect(sent).toHaveLength(8);
  });

  test('the next task begins when one ends, not at the next poll', async () => {
    const users = Array.from({ length: 45 }, (_, index) => `did:key:zNext${index}`);
    const ids = await Promise.all(users.map((of) => addDue({ in: '1 minute' }, undefined, 'next', { of })));
    const runner = createTaskRunner({
      tasks,
      open: toOpen(async () => answered),
      instance: 'one',
      pollMs: 3_600_000,
      logger,
    });
    runner.start();
    await runner.tick();
    await waitFor('all of them', async () =>
      (await Promise.all(ids.map(rowOf))).every(({ status }) => status === 'done'),
    );
    await runner.stop();
  });

  test('many that are due at once are claimed from a bounded look, those of one address last', async () => {
    const strangers = Array.from({ length: 130 }, (_, index) => `did:key:zMany${index}`);
    const strange: string[] = [];
    // One after the other: so many transactions at once do not all succeed on a busy machine.
    for (const of of strangers)
      strange.push(await addDue({ in: '1 minute' }, 1_000, 'strange', { of, client: '192.0.2.9' }));
    const other = await addDue({ in: '1 minute' }, 2_000, 'other', { of: 'did:key:zLateOther' });
    const claim = { instance: 'one', leaseMs: 60_000, limit: 20, perClient: 10 };
    const claimed = await tasks.claim(claim);
    expect(claimed).toHaveLength(11);
    expect(claimed.map(({ id }) => id)).toContain(other);
    await store.db
      .deleteFrom('agent_task')
      .where('id', 'in', [...strange, other])
      .execute();
  });

  test('a task whose session is deleted as it is claimed leaves those that were claimed before', async () => {
    const gone = await addDue({ in: '1 minute' }, 2_000, 'gone', { of: 'did:key:zGone' });
    const kept = await addDue({ in: '1 minute' }, 1_000, 'kept', { of: 'did:key:zKept' });
    let taken = 0;
    const db = store.db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (result.numAffectedRows) taken += 1;
        if (taken === 2) await store.db.deleteFrom('agent_task').where('id', '=', gone).execute();
        return result;
      },
    });
    const deleting = createTaskStore({ ...store, db }, (client) => client);
    const claimed = await deleting.claim({ instance: 'one', leaseMs: 60_000, limit: 20 });
    expect(claimed.map(({ id }) => id)).toEqual([kept]);
    await tasks.cancel('did:key:zKept', kept);
  });

  test('tasks that are queued in their session leave room for others', async () => {
    const users = Array.from({ length: 25 }, (_, index) => `did:key:zQueued${index}`);
    const ids = await Promise.all(users.map((of) => addDue({ in: '1 minute' }, Date.now() - 60_000, 'queued', { of })));
    const other = await addDue({ in: '1 minute' }, Date.now() - 1_000, 'short', { of: 'did:key:zShort' });
    const send: Send = async ({ text }) => (text.includes('queued') ? { status: 'queued' } : answered);
    const runner = createTaskRunner({ tasks, open: toOpen(send), instance: 'one', pollMs: 1_000, logger });
    await waitFor(
      'the other task',
      async () => {
        await runner.tick();
        return (await rowOf(other)).status === 'done';
      },
      10_000,
    );
    await runner.stop();
    expect((await rowOf(ids[0] ?? '')).attempts).toBe(0);
    for (const [index, id] of ids.entries()) await tasks.cancel(users[index] ?? '', id);
  });

  test('long answers of one address leave room for others, whatever users it makes', async () => {
    const stranger = { client: '192.0.2.1' };
    const users = Array.from({ length: 30 }, (_, index) => `did:key:zStranger${index}`);
    const strange = await Promise.all(
      users.map((of) => addDue({ in: '1 minute' }, Date.now() - 60_000, 'long', { of, ...stranger })),
    );
    const others = ['192.0.2.2', undefined].map((client, index) =>
      addDue({ in: '1 minute' }, Date.now() - 1_000, `short ${index}`, {
        of: `did:key:zOther${index}`,
        ...(client && { client }),
      }),
    );
    await Promise.all(others);
    const held = Promise.withResolvers<typeof answered>();
    const sent: string[] = [];
    const send: Send = ({ text }) => {
      sent.push(text.replace('[Scheduled task] ', ''));
      return text.includes('short') ? Promise.resolve(answered) : held.promise;
    };
    const runner = createTaskRunner({ tasks, open: toOpen(send), instance: 'one', pollMs: 1_000, logger });
    for (let round = 0; round < 4; round += 1) await runner.tick();
    expect(sent.filter((text) => text.startsWith('short')).toSorted()).toEqual(['short 0', 'short 1']);
    expect(sent.filter((text) => text === 'long')).toHaveLength(10);
    held.resolve(answered);
    await runner.stop();
    await store.db.deleteFrom('agent_task').where('id', 'in', strange).execute();
  });

  test('tasks that wait for their users hold nobody up, and are looked at again with the same key', async () => {
    const users = Array.from({ length: 25 }, (_, index) => `did:key:zWaiting${index}`);
    const ids = await Promise.all(
      users.map((of) => addDue({ in: '1 minute' }, Date.now() - 10_000, 'approve', { of })),
    );
    await addDue({ in: '1 minute' }, Date.now() - 1_000, 'short', { of: 'did:key:zLast' });
    const keys: unknown[] = [];
    const sent: string[] = [];
    const send: Send = async ({ text, key }) => {
      sent.push(text);
      if (!text.endsWith('approve')) return answered;
      keys.push(key);
      return { status: keys.length > 25 ? 'complete' : 'waiting' };
    };
    for (let round = 0; round < 2; round += 1) await runOnce(send);
    expect(sent).toHaveLength(26);
    expect(sent).toContain('[Scheduled task] short');
    await store.db.updateTable('agent_task').set({ lease_until: 0 }).where('id', 'in', ids).execute();
    for (let round = 0; round < 2; round += 1) await runOnce(send);
    expect(keys.slice(25).toSorted()).toEqual(keys.slice(0, 25).toSorted());
    expect(await rowOf(ids[0] ?? '')).toMatchObject({ status: 'done' });
  });

  test('a task that is due runs once and is done; one that is not is left alone', async () => {
    const sent: unknown[] = [];
    const due = await addDue({ in: '1 minute' });
    const later = await addDue({ in: '1 minute' }, Date.now() + 60_000);
    const send: Send = async (message) => {
      sent.push(message);
      return answered;
    };
    await runOnce(send);
    await runOnce(send);
    expect(sent).toMatchObject([
      { userDid, sessionId, timezone: 'UTC', text: '[Scheduled task] feed the goats', requestId: `task-${due}` },
    ]);
    const ranAt = expect.any(Number);
    expect(await rowOf(due)).toMatchObject({ status: 'done', next_run_at: null, last_run_at: ranAt, ended_at: ranAt });
    expect(await rowOf(later)).toMatchObject({ status: 'active' });
    await tasks.cancel(userDid, later);
  });

  test('of several instances one runs each task', async () => {
    const users = Array.from({ length: 15 }, (_, index) => `${userDid}${index}`);
    const ids = await Promise.all(users.map((did) => addDue({ in: '1 minute' }, undefined, undefined, { of: did })));
    const ran: string[] = [];
    const send: Send = async ({ requestId }) => {
      ran.push(requestId);
      return answered;
    };
    for (let round = 0; round < 4; round += 1)
      await Promise.all(['a', 'b', 'c'].map((instance) => runOnce(send, instance)));
    expect(ran.toSorted()).toEqual(ids.map((id) => `task-${id}`).toSorted());
  });

  test('what an instance had taken when it died is run by another once the lease is over', async () => {
    const id = await addDue({ in: '1 minute' });
    const claim = { leaseMs: 60_000, limit: 5 };
    expect(await tasks.claim({ ...claim, instance: 'dead' })).toHaveLength(1);
    let runs = 0;
    const send: Send = async () => {
      runs += 1;
      return answered;
    };
    await runOnce(send, 'other');
    expect(runs).toBe(0);
    await store.db.updateTable('agent_task').set({ lease_until: 1 }).where('id', '=', id).execute();
    await runOnce(send, 'other');
    expect(runs).toBe(1);
    // The dead one comes back and cannot change what another has done.
    await tasks.finish(id, 'dead', { status: 'active', nextRunAt: 1, ranAt: 1, failures: 0 });
    expect(await rowOf(id)).toMatchObject({ status: 'done', next_run_at: null });
  });

  test('runs that were missed are made up for by one, which says so; the next is in the future', async () => {
    const texts: string[] = [];
    const send: Send = async ({ text }) => {
      texts.push(text);
      return answered;
    };
    const dueAt = Date.now() - 3 * 86_400_000;
    const id = await addDue({ cron: '0 9 * * *', timezone: 'Africa/Nairobi' }, dueAt, 'report');
    await runOnce(send);
    await runOnce(send);
    expect(texts).toEqual([
      `[Scheduled task] report\n(It was due at ${new Date(dueAt).toISOString()}; it could not run earlier.)`,
    ]);
    const { next_run_at, status } = await rowOf(id);
    expect(status).toBe('active');
    expect(next_run_at).toBeGreaterThan(Date.now());
    await tasks.cancel(userDid, id);
  });

  test('a message that is not taken in is tried again later, three times at most', async () => {
    const id = await addDue({ in: '1 minute' });
    const busy: Send = () => Promise.reject(new AppError('SESSION_BUSY', 'busy'));
    for (const attempts of [1, 2]) {
      await runOnce(busy);
      const row = await rowOf(id);
      expect(row).toMatchObject({ status: 'active', attempts });
      expect(row.lease_until).toBeGreaterThan(Date.now());
      await store.db.updateTable('agent_task').set({ lease_until: 0 }).where('id', '=', id).execute();
    }
    await runOnce(busy);
    expect(await rowOf(id)).toMatchObject({ status: 'failed', next_run_at: null });
  });

  test('a regular task continues after a failure, and ends after ten in a row', async () => {
    const id = await addDue({ every: '1 hour' });
    const failing: Send = async () => ({ status: 'failed' });
    for (let failures = 1; failures <= 10; failures += 1) {
      await runOnce(failing);
      expect(await rowOf(id)).toMatchObject({ failures, status: failures < 10 ? 'active' : 'failed' });
      await store.db
        .updateTable('agent_task')
        .set({ next_run_at: 1 })
        .where('id', '=', id)
        .where('status', '=', 'active')
        .execute();
    }
  });

  test('a task of a session that is gone is cancelled', async () => {
    const id = await addDue({ in: '1 minute' });
    await runOnce(() => Promise.reject(new AppError('SESSION_NOT_FOUND', 'gone')));
    expect(await rowOf(id)).toMatchObject({ status: 'cancelled' });
  });

  test('one that is cancelled while it runs does not come back', async () => {
    const id = await addDue({ every: '1 hour' });
    await runOnce(async () => {
      await tasks.cancel(userDid, id);
      return answered;
    });
    expect(await rowOf(id)).toMatchObject({ status: 'cancelled', next_run_at: null });
  });

  test('one that our own shutdown cut off is left for the next process, as due as it was', async () => {
    const id = await addDue({ in: '1 minute' });
    await runOnce(() => Promise.reject(new AppError('UNAVAILABLE', 'stopping')));
    expect(await rowOf(id)).toMatchObject({ status: 'active', lease_until: 0, claimed_by: null, attempts: 0 });
    await tasks.cancel(userDid, id);
  });
});
