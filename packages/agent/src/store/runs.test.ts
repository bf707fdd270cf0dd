import { randomUUID } from 'node:crypto';
import type { EndedRunStatus, Message } from '@palaver/contract';
import { openStore, type Store } from '@palaver/store';
import { createTestDatabase, engines, waitFor } from '@palaver/test-kit';
import { type RawBuilder, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { storeEnd } from '../runs/owner.ts';
import { createInstanceStore } from './instances.ts';
import { createMessageStore, createSummaryStore } from './messages.ts';
import { agentMigrations } from './migrate.ts';
import { deleteExpired } from './retention.ts';
import type { RunEnd } from './run-writes.ts';
import { createRunStore, type RunStore } from './runs.ts';
import type { AgentDatabase } from './schema.ts';
import { createSessionStore } from './sessions.ts';

const userDid = 'did:key:zAna';
const oracle = { name: 'Test', did: 'did:key:zAgent', keyDid: 'did:key:zAgent', signingDid: 'did:key:zAgent' };

const toMessage = (type: 'human' | 'ai', content: string, more: Partial<Message> = {}): Message => ({
  id: randomUUID(),
  type,
  content,
  createdAt: new Date().toISOString(),
  status: 'complete',
  requestId: 'r',
  ...more,
});

async function abortingOf(runs: RunStore): Promise<string[]> {
  const own = await runs.ofInstance('one');
  return own.flatMap(({ runId, isAborting }) => (isAborting ? [runId] : [])).sort();
}

async function setUp(engine: (typeof engines)[number]) {
  const database = await createTestDatabase(engine);
  const store: Store<AgentDatabase> = await openStore(database.url);
  await store.migrate('agent', agentMigrations);
  const runs = createRunStore(store);
  const { sessionId } = await createSessionStore(store, oracle).create(userDid, {});
  return {
    store,
    runs,
    sessionId,
    messages: createMessageStore(store),
    instances: createInstanceStore(store),
    async begin(text: string, { runId = String(randomUUID()), instance = 'one', replaces = '' } = {}) {
      const question = toMessage('human', text, replaces === '' ? {} : { replaces });
      const begun = await runs.begin({
        runId,
        sessionId,
        userDid,
        requestId: 'r',
        instance,
        model: 'm',
        question,
        answerId: `answer of ${runId}`,
        input: '{}',
      });
      if (begun.kind !== 'begun') throw new Error(begun.kind);
      return { ...begun, runId, questionId: question.id };
    },
    toEnd: ({ runId, epoch }: { runId: string; epoch: number }, status: EndedRunStatus, content: string): RunEnd => ({
      runId,
      epoch,
      sessionId,
      status,
      answer: toMessage('ai', content, { id: `answer of ${runId}`, status }),
      usage: { inputTokens: 0, outputTokens: 0 },
      title: undefined,
      toFrames: (final) => ({ first: 1, last: 1, body: `event: done\nid: 1\ndata: {"status":"${final}"}\n\n` }),
    }),
    async [Symbol.asyncDispose]() {
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

describe.each(engines)('runs on %s', (engine) => {
  test('messages are in the order in which they were accepted, whatever the clocks of instances say', async () => {
    await using fixture = await setUp(engine);
    const { runs, sessionId, messages, begin, toEnd } = fixture;
    // Ids hold the time of the instance that made them: the second clock is behind.
    const ids = ['02000000-0000-7000-8000-000000000000', '01000000-0000-7000-8000-000000000000'];
    for (const [index, runId] of ids.entries()) {
      const run = await begin(`question ${index}`, { runId });
      expect(run.status).toBe('running');
      await runs.end(toEnd(run, 'complete', `answer ${index}`));
    }
    const texts = ['question 0', 'answer 0', 'question 1', 'answer 1'];
    expect((await messages.list(sessionId)).map(({ content }) => content)).toEqual(texts);
    const [last = ''] = ids.slice(-1);
    const before = await messages.before(sessionId, last, 10);
    expect([before.messages.map(({ content }) => content), before.isWhole]).toEqual([texts.slice(0, 2), true]);
    const page = await messages.page(sessionId, { limit: 3 });
    expect(page.messages.map(({ content }) => content)).toEqual(texts.slice(1));
    const older = await messages.page(sessionId, { limit: 3, before: page.prevCursor ?? '' });
    expect(older.messages.map(({ content }) => content)).toEqual(texts.slice(0, 1));
  });

  test('runs of a session start one after the other, and only for their owner', async () => {
    await using fixture = await setUp(engine);
    const { runs, begin, toEnd } = fixture;
    const [one, two, three] = [await begin('1'), await begin('2', { instance: 'two' }), await begin('3')];
    expect([one.status, two.status, three.status]).toEqual(['running', 'queued', 'queued']);
    expect([await runs.start(two), await runs.start(three)]).toEqual([false, false]);
    await runs.end(toEnd(one, 'complete', ''));
    expect(await runs.start(three)).toBe(false);
    expect(await runs.start({ ...two, epoch: two.epoch + 1 })).toBe(false);
    expect(await runs.start(two)).toBe(true);
    expect(await runs.start(two)).toBe(true); // the reply to the first may be lost
    expect((await runs.live(fixture.sessionId)).map(({ status }) => status)).toEqual(['running', 'queued']);
  });

  test('a question is replaced once; the abort of what it replaces is stored with it', async () => {
    await using fixture = await setUp(engine);
    const { runs, messages, sessionId, begin } = fixture;
    const [one, two] = [await begin('one'), await begin('two')];
    const edit = await begin('edit', { replaces: one.questionId });
    expect(await abortingOf(runs)).toEqual([one.runId, two.runId].sort());
    expect(edit.aborted.sort()).toEqual([one.runId, two.runId].sort());
    await expect(begin('second edit', { replaces: one.questionId })).rejects.toThrow('replaced');
    await expect(begin('second edit', { replaces: two.questionId })).rejects.toThrow('replaced');
    expect((await messages.list(sessionId)).map(({ content }) => content)).toEqual(['edit']);
    expect(await runs.live(sessionId)).toHaveLength(3);
  });

  test('a summary that holds replaced messages is not stored, and not used where it was', async () => {
    await using fixture = await setUp(engine);
    const { store, runs, messages, sessionId, begin, toEnd } = fixture;
    const summaries = createSummaryStore(store);
    const [one, two] = [await begin('one'), await begin('two')];
    for (const run of [one, two]) await runs.end(toEnd(run, 'complete', 'answer'));
    const known = { text: 'known', upTo: one.questionId, capabilities: [] };
    await summaries.save(sessionId, known);
    const edit = await begin('edit', { replaces: two.questionId });
    await summaries.save(sessionId, { ...known, text: 'late', upTo: two.questionId });
    expect(await summaries.find(sessionId)).toEqual(known);
    // As a writer leaves it that looked before the edit was committed.
    await store.db.updateTable('agent_summary').set({ up_to: two.questionId }).execute();
    expect(await summaries.find(sessionId)).toBeUndefined();
    expect((await messages.before(sessionId, edit.runId, 10)).messages.map(({ content }) => content)).toEqual([
      'one',
      'answer',
    ]);
  });

  test('an owner that was replaced writes nothing any more', async () => {
    await using fixture = await setUp(engine);
    const { runs, instances, messages, sessionId, store, begin, toEnd } = fixture;
    const run = await begin('hello');
    await runs.beginStep({ ...run, number: 0, said: 0, body: '{}' });
    await instances.beat('one');
    const list = () => runs.listInterrupted({ instance: 'two', isAlone: false, limit: 10 });
    expect(await list()).toEqual([]);
    await store.db.updateTable('agent_instance').set({ seen_at: 0 }).execute();
    const [found] = await list();
    if (!found) throw new Error('the run was not found');
    expect(await Promise.all([runs.claim(found, 'two'), runs.claim(found, 'three')])).toContain(undefined);
    const frames = { first: 1, last: 1, body: 'event: run\nid: 1\ndata: {}\n\n' };
    expect(await runs.addFrames(run, frames)).toBe(false);
    expect(await runs.endStep({ ...run, number: 0, outcomes: '["late"]' })).toBe(false);
    expect((await runs.steps(run.runId))?.[0]?.outcomes).toBeNull();
    expect(await runs.beginStep({ ...run, number: 1, said: 0, body: '{}' })).toBe(false);
    expect(await storeEnd(runs, toEnd(run, 'complete', 'late'), () => 0)).toEqual({ kind: 'new-owner' });
    const owner = { ...run, epoch: run.epoch + 1 };
    expect(await runs.endStep({ ...owner, number: 0, outcomes: '["new"]' })).toBe(true);
    expect(await runs.addFrames(owner, frames)).toBe(true);
    expect(
      await runs.end({ ...toEnd(owner, 'complete', 'new'), toFrames: () => ({ ...frames, first: 2, last: 2 }) }),
    ).toBe('complete');
    expect((await messages.list(sessionId))[1]).toMatchObject({ content: 'new' });
  });

  // Seed 1118 of the simulation.
  test('a write of frames whose reply was lost, and that comes late, takes back none that came before it', async () => {
    await using fixture = await setUp(engine);
    const { runs, begin } = fixture;
    const run = await begin('hello');
    await runs.addFrames(run, { first: 1, last: 2, body: 'both' });
    await runs.addFrames(run, { first: 1, last: 1, body: 'one' });
    expect(await runs.frames(run.runId, 0)).toMatchObject([{ first: 1, last: 2, body: 'both' }]);
  });

  test('an end whose confirmation was lost counts as stored', async () => {
    await using fixture = await setUp(engine);
    const { runs, begin, toEnd } = fixture;
    const run = await begin('hello');
    await runs.end(toEnd(run, 'complete', 'whole'));
    expect(await storeEnd(runs, toEnd(run, 'complete', 'whole'), () => 0)).toEqual({
      kind: 'stored',
      status: 'complete',
    });
  });

  test('a run whose abort was confirmed ends as aborted', async () => {
    await using fixture = await setUp(engine);
    const { runs, begin, toEnd } = fixture;
    const [one, two] = [await begin('1'), await begin('2')];
    expect(await runs.requestAbort(one.runId, 60_000)).toBe(false); // it was added while the request was on its way
    expect(await runs.requestAbort(one.runId, 0)).toBe(true);
    expect(await abortingOf(runs)).toEqual([one.runId]);
    expect(await runs.end(toEnd(one, 'complete', 'whole'))).toBe('aborted');
    expect(await runs.requestAbort(one.runId, 0)).toBe(false);
    await sql`update agent_run set created_at = created_at - 120000`.execute(fixture.store.db);
    expect(await runs.requestAbort(two.runId, 60_000)).toBe(false); // it was meant for the one that ended just now
    expect(await runs.start(two)).toBe(true);
    expect(await runs.requestAbort(two.runId, 60_000)).toBe(false);
    expect(await runs.end(toEnd(two, 'complete', ''))).toBe('complete');
  });

  test('a queued run does not start once its abort is confirmed', async () => {
    await using fixture = await setUp(engine);
    const { runs, begin, toEnd } = fixture;
    const [one, two] = [await begin('1'), await begin('2')];
    expect(await runs.requestAbort(two.runId, 0)).toBe(true);
    await runs.end(toEnd(one, 'complete', ''));
    expect(await runs.start(two)).toBe(false);
  });

  test('a run is not taken from an owner that is alive again', async () => {
    await using fixture = await setUp(engine);
    const { begin, instances, runs } = fixture;
    const run = await begin('hello');
    const [found] = await runs.listInterrupted({ instance: 'two', isAlone: false, limit: 1 });
    if (!found) throw new Error('the run was not found');
    await instances.beat('one');
    expect(await runs.claim(found, 'two')).toBeUndefined();
    expect(await runs.state(run.runId)).toMatchObject({ epoch: 1 });
  });

  test('an answer does not change a message of another run, and its run ends', async () => {
    await using fixture = await setUp(engine);
    const { runs, messages, sessionId, begin, toEnd } = fixture;
    const [one, two] = [await begin('one'), await begin('two')];
    const end = toEnd(one, 'complete', 'answer');
    expect(await runs.end({ ...end, answer: { ...end.answer, id: two.questionId } })).toBe('complete');
    expect((await messages.list(sessionId)).map(({ content }) => content)).toContain('two');
  });

  test('one instance at a time holds a lease', async () => {
    await using fixture = await setUp(engine);
    const { instances } = fixture;
    const taken = await Promise.all(['a', 'b', 'c'].map((holder) => instances.lease('sweep', holder, 60_000)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    const holder = ['a', 'b', 'c'][taken.indexOf(true)] ?? '';
    expect(await instances.lease('sweep', holder, -1)).toBe(true);
    expect(await instances.lease('sweep', 'd', 60_000)).toBe(true);
  });

  test('an instance that stops frees its leases and no others', async () => {
    await using fixture = await setUp(engine);
    const { instances } = fixture;
    await instances.lease('retention', 'a', 60_000);
    await instances.lease('sweep', 'b', 60_000);
    await instances.markStopped('a');
    expect(await instances.lease('retention', 'c', 60_000)).toBe(true);
    expect(await instances.lease('sweep', 'c', 60_000)).toBe(false);
  });

  test('frames stay for their time after the end of a run, however long it took', async () => {
    await using fixture = await setUp(engine);
    const { store, runs, begin, toEnd } = fixture;
    const run = await begin('1');
    await runs.addFrames(run, { first: 1, last: 1, body: 'x' });
    await sql`update agent_frame set created_at = 0`.execute(store.db);
    await runs.end({ ...toEnd(run, 'complete', 'one'), toFrames: () => ({ first: 2, last: 2, body: 'y' }) });
    const hour = 3_600_000;
    const rules = { messagesMs: 0, sessionsMs: 0, delegationsMs: hour, runsMs: hour, sendsMs: hour };
    await deleteExpired(store, { framesMs: hour, ...rules });
    expect(await runs.frames(run.runId, 0)).toHaveLength(2);
  });

  test('what is past its time is deleted, a live run and what belongs to it never', async () => {
    await using fixture = await setUp(engine);
    const { store, runs, messages, sessionId, begin, toEnd } = fixture;
    const ended = await begin('1');
    await runs.end(toEnd(ended, 'complete', 'one'));
    const live = await begin('2');
    await runs.addFrames(live, { first: 1, last: 1, body: 'x' });
    const count = async (table: 'agent_frame' | 'agent_run') =>
      (await store.db.selectFrom(table).selectAll().execute()).length;
    const hour = 3_600_000;
    const kept = { messagesMs: 0, sessionsMs: 0, delegationsMs: hour };
    await deleteExpired(store, { framesMs: hour, runsMs: hour, sendsMs: hour, ...kept });
    expect([await count('agent_frame'), await count('agent_run')]).toEqual([2, 2]);
    await deleteExpired(store, { framesMs: -1_000, runsMs: hour, sendsMs: hour, ...kept });
    expect([await count('agent_frame'), await count('agent_run')]).toEqual([1, 2]);
    await deleteExpired(store, { framesMs: -1_000, runsMs: -1_000, sendsMs: -1_000, ...kept });
    expect([await count('agent_frame'), await count('agent_run')]).toEqual([1, 1]);
    expect((await messages.list(sessionId)).map(({ content }) => content)).toEqual(['1', 'one', '2']);
  });
});

/** Locks the sessions before it resolves, with what releases them. */
async function holdSessions({ db }: Store<AgentDatabase>, which: RawBuilder<unknown>): Promise<() => Promise<void>> {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = db.transaction().execute(async (trx) => {
    await sql`select 1 from agent_session where ${which} for update`.execute(trx);
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return async () => {
    released.resolve();
    await holding;
  };
}

test.each(['abort', 'claim'] as const)('no step begins after an %s that did not find it', async (kind) => {
  await using fixture = await setUp('postgres');
  const { store, runs, begin } = fixture;
  const run = await begin('hello');
  const [found] = await runs.listInterrupted({ instance: 'two', isAlone: false, limit: 1 });
  if (!found) throw new Error('the run was not found');
  const other = await createSessionStore(store, oracle).create(userDid, {});
  const release = await holdSessions(store, sql`id = ${other.sessionId}`);
  // Written in one tick: the begin waits for its session.
  const step = runs.beginStep({ ...run, number: 0, said: 0, body: '{}' });
  const waiting = runs.begin({
    runId: randomUUID(),
    sessionId: other.sessionId,
    userDid,
    requestId: 'r',
    instance: 'one',
    model: 'm',
    question: toMessage('human', 'x'),
    answerId: randomUUID(),
    input: '{}',
    send: { key: 'k', bodyHash: 'h' },
  });
  await waitFor('a begin that waits', async () => {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(store.db);
    return rows.length > 0;
  });
  if (kind === 'abort') expect(await runs.requestAbort(run.runId, 0)).toBe(true);
  else expect(await runs.claim(found, 'two')).toMatchObject({ epoch: 2 });
  const steps = await runs.steps(run.runId);
  await release();
  await waiting;
  expect(await step).toBe(steps?.length === 1);
});

test('of two messages with one key that are sent to two sessions at once, one begins', async () => {
  await using fixture = await setUp('postgres');
  const { store, sessionId } = fixture;
  const other = await createSessionStore(store, oracle).create(userDid, {});
  const release = await holdSessions(store, sql`true`);
  // Each with a writer of its own, as two instances have.
  const begun = [sessionId, other.sessionId].map((id) =>
    createRunStore(store).begin({
      runId: randomUUID(),
      sessionId: id,
      userDid,
      requestId: 'r',
      instance: 'one',
      model: 'm',
      question: toMessage('human', 'x'),
      answerId: randomUUID(),
      input: '{}',
      send: { key: 'k', bodyHash: 'h' },
    }),
  );
  await waitFor('both', async () => {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(store.db);
    return rows.length === 2;
  });
  await release();
  expect((await Promise.all(begun)).map(({ kind }) => kind).sort()).toEqual(['begun', 'known']);
});
