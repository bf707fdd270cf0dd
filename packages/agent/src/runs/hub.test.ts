import { engines, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openHub } from '../../test/open-hub.ts';
import { createSessionStore } from '../store/sessions.ts';
import type { ClaimedRun } from './hub.ts';
import type { Turn } from './input.ts';
import type { Work } from './owner.ts';
import { RunCancelled, rejectOnAbort } from './run.ts';

// A rejection that nobody handles would fail this run of tests, and end a process in service.
test('a run cancelled at once, before its work begins, ends like any other', async () => {
  let begun = 0;
  await using own = await openHub('sqlite', {
    async execute() {
      begun += 1;
      return 'answered';
    },
  });
  const run = await own.submit();
  run.cancel(new RunCancelled('user'));
  expect(await run.answer).toMatchObject({ status: 'aborted', content: '' });
  expect(begun).toBe(0);
});

test('a small message does not wait for the large ones of others', async () => {
  await using own = await openHub('sqlite');
  const sessions = createSessionStore(own.store, { name: 'Test', did: 'did:key:zAgent' } as never);
  const begun: string[] = [];
  const begin = async (did: string, content: string) => {
    const session = { ...(await sessions.create(did, {})), isNamed: false };
    const earlier = [{ type: 'human' as const, content }];
    return () => own.hub.begin({ ...own.turn, session, user: { did }, earlier }).then(() => begun.push(did));
  };
  const large = await Promise.all(Array.from({ length: 8 }, (_, at) => begin(`did:key:z${at}`, 'x'.repeat(200_000))));
  const small = await begin('did:key:zBen', 'hello');
  await Promise.all([...large, small].map((start) => start()));
  expect(begun).toHaveLength(9);
  expect(begun.indexOf('did:key:zBen')).toBeLessThan(4);
});

describe.each(engines)('on %s', (engine) => {
  test('a run that was deleted without word to this instance ends as aborted at the next look, and is not kept', async () => {
    await using own = await openHub(engine, { execute: ({ run }) => rejectOnAbort(run.signal) });
    const run = await own.submit();
    await waitFor('its begin', () => run.status === 'running');
    await own.hub.checkOwned();
    expect(run.signal.aborted).toBe(false);
    const sessions = createSessionStore(own.store, { name: 'Test', did: 'did:key:zAgent' } as never);
    await sessions.remove(run.userDid, run.sessionId);
    await own.hub.checkOwned();
    expect(run.signal.aborted).toBe(true);
    expect(await run.answer).toMatchObject({ status: 'aborted' });
    expect(own.hub.find(run.runId)).toBeUndefined();
  });

  test('no step begins once a run is handed over', async () => {
    const cancelled = Promise.withResolvers<void>();
    const refused = Promise.withResolvers<unknown>();
    await using own = await openHub(engine, {
      async execute({ steps }) {
        await cancelled.promise;
        const result = { text: '', toolCalls: [], usage: { inputTokens: 0, outputTokens: 0 } };
        await steps.begin(result as never, false).then(() => refused.resolve('begun'), refused.resolve);
        return 'answered';
      },
    });
    const run = await own.submit();
    await waitFor('its begin', () => run.status === 'running');
    run.cancel(new RunCancelled('handover'));
    cancelled.resolve();
    expect(await refused.promise).toBeInstanceOf(RunCancelled);
    expect(await own.runs.steps(run.runId)).toEqual([]);
  });

  test('a run ends, and leaves its place, also where a plugin throws at its end', async () => {
    await using own = await openHub(engine);
    const release = () => {
      throw new Error('a fault of a plugin');
    };
    const run = await own.hub.begin({ ...own.turn, blobs: { ...own.turn.blobs, release } });
    expect((await run.answer).status).toBe('complete');
    await waitFor('its place', () => own.hub.size() === 0);
    expect((await (await own.submit()).answer).status).toBe('complete');
  });

  test('a run that waits leaves once its end was stored elsewhere', async () => {
    const done = Promise.withResolvers<void>();
    await using own = await openHub(engine, {
      async execute() {
        await done.promise;
        return 'answered';
      },
    });
    await own.submit();
    const second = await own.submit();
    // As an instance of the previous version does that took this one for dead.
    await sql`update agent_run set status = 'failed', ended_at = 1 where id = ${second.runId}`.execute(own.store.db);
    await waitFor('the end of its stream', () => second.frames.ended, 4_000).finally(done.resolve);
  });

  test('an end that cannot be stored in time: the reader gets failed, and the text is stored later', async () => {
    let notStored = 0;
    const ends: string[] = [];
    await using own = await openHub(engine, {
      storeEndMs: 300,
      onNotStored: () => {
        notStored += 1;
      },
      onTurnEnd: async ({ status }) => void ends.push(status),
      async execute({ run }) {
        run.emit('message', { content: 'said', timestamp: new Date().toISOString() });
        await rename('agent_message', 'agent_message_away');
        return 'answered';
      },
    });
    const rename = (from: string, to: string) =>
      sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(own.store.db);
    const run = await own.submit();
    expect(await run.answer).toMatchObject({ status: 'failed', content: 'said' });
    const { text } = run.frames.read(0, Number.POSITIVE_INFINITY);
    expect(text).toContain('event: error\n');
    expect(text).toContain('"code":"UNAVAILABLE"');
    expect(text).toMatch(/event: done\n.*\n.*"status":"failed"\}\n\n$/);
    expect({ notStored, ends }).toEqual({ notStored: 1, ends: ['failed'] });
    await rename('agent_message_away', 'agent_message');
    const readAnswer = () =>
      own.store.db.selectFrom('agent_message').select(['status', 'content']).where('type', '=', 'ai').execute();
    await waitFor('the answer', async () => (await readAnswer()).length > 0);
    expect(await readAnswer()).toEqual([{ status: 'failed', content: 'said' }]);
    const { status } = await own.store.db.selectFrom('agent_run').select('status').executeTakeFirstOrThrow();
    expect(status).toBe('failed');
  });
});

test('runs beyond their time are counted', async () => {
  const gate = Promise.withResolvers<'answered'>();
  await using own = await openHub('sqlite', { turnTimeoutMs: -40_000, execute: () => gate.promise });
  const run = await own.submit();
  const counted = own.hub.countOverdue();
  gate.resolve('answered');
  await run.answer;
  expect(counted).toBe(1);
  await waitFor('its end', () => own.hub.countOverdue() === 0);
});

const mebibyte = 1024 * 1024;
const limits = {
  live: 16,
  livePerUser: 3,
  livePerClient: 6,
  waiting: 4,
  waitingPerClient: 2,
  frames: 8 * mebibyte,
  framesPerUser: 4 * mebibyte,
  endedFrames: mebibyte,
};

/** Runs that say so many characters each and then wait for `end`; each in a session of its own, of the user given. */
async function openSayers(characters: number) {
  const gate = Promise.withResolvers<'answered'>();
  const said: string[] = [];
  const own = await openHub('sqlite', {
    limits,
    async execute({ run }) {
      for (let left = characters; left > 0 && !run.signal.aborted; left -= mebibyte / 2) {
        const content = 'x'.repeat(Math.min(left, mebibyte / 2));
        run.emit('message', { content, timestamp: new Date().toISOString() });
        await new Promise(setImmediate);
      }
      said.push(run.runId);
      return gate.promise;
    },
  });
  const sessions = createSessionStore(own.store, { name: 'T', did: 'd', keyDid: 'd', signingDid: 'd' });
  return {
    ...own,
    end: () => gate.resolve('answered'),
    async submitOf(did: string, more: Partial<Turn> = {}) {
      const session = { ...(await sessions.create(did, {})), isNamed: false };
      return own.hub.begin({ ...own.turn, session, user: { did }, ...more });
    },
    allSaid: (count: number) => waitFor('what they say', () => said.length === count),
  };
}

test('live runs are bounded for a user, an address and all, and leave room for whoever has none', async () => {
  await using own = await openSayers(1);
  for (let count = 0; count < 3; count += 1) await own.submitOf('did:key:zAna', { client: 'here' });
  await expect(own.submitOf('did:key:zAna', { client: 'there' })).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
  for (const name of ['Ben', 'Cem', 'Dan']) await own.submitOf(`did:key:z${name}`, { client: 'here' });
  await expect(own.submitOf('did:key:zEva', { client: 'here' })).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
  await own.submitOf('did:key:zEva', { client: 'there' });
  // The fuller it is, the smaller each one's share.
  await own.submitOf('did:key:zFay');
  await own.submitOf('did:key:zFay');
  await expect(own.submitOf('did:key:zFay')).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
  for (let count = own.hub.size(); count < 16; count += 1) await own.submitOf(`did:key:z${count}`);
  await expect(own.submitOf('did:key:zGil')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  own.end();
  await waitFor('the ends', () => own.hub.size() === 0);
  await expect(own.submitOf('did:key:zAna')).resolves.toBeDefined();
});

test('runs that wait for their user do not count as live; an address may have so many of them', async () => {
  const outcomes: boolean[] = [];
  const result = { text: '', toolCalls: [{ toolCallId: 'c', toolName: 'pay', input: {} }] };
  const call = { approvalId: '', toolCallId: 'c', toolName: 'pay', args: {} };
  await using own = await openHub('sqlite', {
    limits: { ...limits, live: 1, waiting: 8 },
    async execute({ steps }) {
      const asked = { calls: [{ ...call, approvalId: crypto.randomUUID() }], fingerprints: {} };
      const isAsked = await steps.pause(result as never, asked as never, true);
      outcomes.push(isAsked);
      return isAsked ? 'waiting' : 'answered';
    },
  });
  const sessions = createSessionStore(own.store, { name: 'T', did: 'd', keyDid: 'd', signingDid: 'd' });
  const wait = async (client: string) => {
    const did = `did:key:z${crypto.randomUUID()}`;
    const session = { ...(await sessions.create(did, {})), isNamed: false };
    const run = await own.hub.begin({ ...own.turn, session, user: { did }, client });
    await waitFor('it to wait or end', () => ['waiting', 'complete'].includes(run.status));
    if (run.status === 'complete') await run.answer;
  };
  for (const client of ['here', 'here', 'here', 'there']) await wait(client);
  expect(outcomes).toEqual([true, true, false, true]);
});

test('what a live run holds of its message counts', async () => {
  await using own = await openSayers(1);
  const context = ['x'.repeat(mebibyte)];
  await own.submitOf('did:key:zAna', { context });
  await expect(own.submitOf('did:key:zAna', { context })).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
  await own.submitOf('did:key:zBen', { context });
  const values = Array.from({ length: 30_000 }, () => ({}));
  const callerTools = [{ name: 't', description: '', schema: { values } }];
  await expect(own.submitOf('did:key:zBen', { callerTools })).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
  own.end();
});

test('what its tools gave counts, however small the values', async () => {
  const output = Array.from({ length: 20_000 }, () => ({}));
  const result = { text: '', toolCalls: [] };
  await using own = await openHub('sqlite', {
    limits,
    async execute({ steps, run }) {
      for (let count = 0; count < 3 && !run.signal.aborted; count += 1) {
        await steps.begin(result as never, true);
        await steps.end([{ output }]);
      }
      return 'answered';
    },
  });
  const run = await own.submit();
  expect(await run.answer).toMatchObject({ status: 'failed', error: { code: 'TURN_LIMIT_EXCEEDED' } });
});

test('where all together are too much, a run of the user who has most ends, not the largest run', async () => {
  await using own = await openSayers(0.5 * mebibyte);
  const context = ['x'.repeat(0.7 * mebibyte)];
  const large = await own.submitOf('did:key:zAna', { context: ['x'.repeat(0.9 * mebibyte)] });
  const many = [];
  for (let count = 0; count < 2; count += 1) many.push(await own.submitOf('did:key:zBen', { context }));
  for (const name of ['Cem', 'Dan']) await own.submitOf(`did:key:z${name}`, { context: ['x'.repeat(0.5 * mebibyte)] });
  const failed = await Promise.race([large, ...many].map(({ answer, userDid }) => answer.then(() => userDid)));
  expect(failed).toBe('did:key:zBen');
  own.end();
  expect(await large.answer).toMatchObject({ status: 'complete' });
});

test('frames of live runs are bounded: the largest runs of the user end, and those of others go on', async () => {
  await using own = await openSayers(3 * mebibyte);
  const [first, ben] = [await own.submitOf('did:key:zAna'), await own.submitOf('did:key:zBen')];
  await own.allSaid(2);
  const second = await own.submitOf('did:key:zAna');
  const failed = await Promise.race([first.answer, second.answer]);
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'TURN_LIMIT_EXCEEDED' } });
  own.end();
  expect(await ben.answer).toMatchObject({ status: 'complete' });
  expect((await ben.answer).content).toHaveLength(3 * mebibyte);
});

test('frames of ended runs are bounded: older runs are read from the database', async () => {
  await using own = await openSayers(mebibyte / 2);
  own.end();
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const run = await own.submitOf('did:key:zAna');
    await run.answer;
    await waitFor('its end', () => own.hub.size() === 0);
    ids.push(run.runId);
  }
  expect(ids.map((id) => own.hub.find(id) !== undefined)).toEqual([false, false, true]);
  const [stored] = (await own.runs.frames(ids[0] ?? '', 0)) ?? [];
  expect(stored?.body).toContain('event: done');
});

test('a run whose claim is answered after the instance has closed is not carried out there', async () => {
  const parts = { turnTimeoutMs: 600_000, execute: ({ run }: Work) => rejectOnAbort(run.signal) };
  await using opened = await openHub('sqlite', parts);
  const { hub, turn } = opened;
  const claim = Promise.withResolvers<ClaimedRun>();
  const ids = {
    runId: 'late',
    sessionId: turn.session.sessionId,
    userDid: turn.user.did,
    requestId: 'r',
    messageId: 'm',
  };
  const taken = hub.takeOver(ids, turn, () => claim.promise);
  await hub.close(60_000);
  claim.resolve({ epoch: 1, status: 'running', frames: '', steps: [] });
  await taken;
  await expect.poll(() => hub.size()).toBe(0);
});
