import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { describe, expect, it } from 'vitest';
import { openHub } from '../../test/open-hub.ts';
import { createCluster } from '../cluster/create-cluster.ts';
import type { TurnEnd } from '../define/middleware.ts';
import { createInstanceStore } from '../store/instances.ts';
import type { RetentionRules } from '../store/retention.ts';
import { createSessionStore } from '../store/sessions.ts';
import { beginRun } from './hub.ts';
import { storeEnd } from './owner.ts';
import { createRunUpkeep, sweepRuns } from './take-over.ts';

const oracle = { name: 'Test', did: 'did:key:zAgent', keyDid: 'did:key:zAgent', signingDid: 'did:key:zAgent' };
const used = { inputTokens: 70, outputTokens: 5 };
const body = (isRepeatable: boolean) =>
  JSON.stringify({
    result: { text: '', toolCalls: [{ id: 'c', name: 'pay', args: {} }] },
    usage: { m: used },
    isRepeatable,
  });

describe.each(engines)('the sweep on %s', (engine) => {
  async function setUp() {
    const executed: unknown[] = [];
    const ends: TurnEnd[] = [];
    const own = await openHub(engine, {
      async execute({ steps }) {
        executed.push(steps.earlier.map(({ outcomes }) => outcomes));
        return 'answered';
      },
    });
    const { runs, hub, logger, store, turn } = own;
    const begin = async (session = turn.session) => {
      const begun = await beginRun(
        { ...turn, session },
        { runs, instance: 'frozen', send: undefined, now: Date.now(), reserve: () => () => {} },
      );
      if ('known' in begun) throw new Error('a new run');
      return begun;
    };
    const begun = await begin();
    return {
      ...own,
      begin: async () =>
        begin({ ...turn.session, ...(await createSessionStore(store, oracle).create('did:key:zAna', {})) }),
      executed,
      ends,
      frozen: begun.owned,
      /** `onRead`: what the frozen owner does once the sweep has read the run. */
      sweep: (onRead: () => Promise<unknown>) =>
        sweepRuns({
          instance: 'test',
          isAlone: true,
          instances: createInstanceStore(store),
          runs,
          hub,
          logger,
          async loadTurn() {
            await onRead();
            return turn;
          },
          onTurnEnd: async (end) => void ends.push(end),
        }),
    };
  }

  it('does not begin again the tool that its owner began after all, between the reading and the claim', async () => {
    await using own = await setUp();
    const { frozen, runs, executed, hub, ends } = own;
    let hasBegun = false;
    await own.sweep(async () => {
      hasBegun = await runs.beginStep({ ...frozen, number: 0, said: 0, body: body(false) });
    });
    await hub.close(1_000);
    expect({ hasBegun, executed }).toEqual({ hasBegun: true, executed: [] });
    expect(await runs.state(frozen.runId)).toMatchObject({ status: 'failed' });
    // What the step has used is paid for.
    expect(ends).toMatchObject([{ status: 'failed', usage: used, usageByModel: { m: used } }]);
  });

  it('continues with what its owner had stored until the claim', async () => {
    await using own = await setUp();
    const { frozen, runs, executed, hub } = own;
    await own.sweep(async () => {
      await runs.beginStep({ ...frozen, number: 0, said: 0, body: body(false) });
      await runs.endStep({ ...frozen, number: 0, outcomes: '{"outcomes":[{"output":"paid"}],"usage":{}}' });
      await runs.addFrames(frozen, { first: 1, last: 1, body: 'event: run\nid: 1\ndata: {}\n\n' });
    });
    await hub.close(1_000);
    expect(executed).toEqual([[[{ output: 'paid' }]]]);
    const numbers = (await runs.frames(frozen.runId, 0))?.flatMap(({ body }) => body.match(/(?<=^id: )\d+/gm) ?? []);
    expect(numbers).toEqual(['1', '2']);
  });

  it('ends a run once it owns it: a slow owner changes neither its frames nor its end', async () => {
    await using own = await setUp();
    const { frozen, runs, hub, turn } = own;
    await runs.beginStep({ ...frozen, number: 0, said: 0, body: body(false) });
    const stored: boolean[] = [];
    const { frames } = runs;
    runs.frames = async (runId, after) => {
      const read = await frames(runId, after);
      stored.push(await runs.addFrames(frozen, { first: 1, last: 1, body: 'event: run\nid: 1\ndata: {}\n\n' }));
      return read;
    };
    await own.sweep(async () => undefined);
    runs.frames = frames;
    stored.push(await runs.endStep({ ...frozen, number: 0, outcomes: '{"outcomes":[],"usage":{}}' }));
    const answer = { id: 'a', type: 'ai', content: 'late', createdAt: new Date().toISOString() } as const;
    const late = await storeEnd(
      runs,
      {
        ...frozen,
        sessionId: turn.session.sessionId,
        status: 'complete',
        title: 'late',
        usage: used,
        answer: { ...answer, status: 'complete', requestId: 'r' },
        toFrames: () => ({ first: 9, last: 9, body: 'event: done\nid: 9\ndata: {}\n\n' }),
      },
      () => 0,
    );
    await hub.close(1_000);
    expect(stored).toEqual(stored.map(() => false));
    expect(late).toEqual({ kind: 'new-owner' });
    expect(await runs.state(frozen.runId)).toMatchObject({ status: 'failed' });
    const all = (await runs.frames(frozen.runId, 0))?.map((row) => row.body).join('') ?? '';
    expect(all.match(/^event: done$/gm)).toHaveLength(1);
  });

  // Seed 2366 of the simulation.
  it('reports the end of a run once where the reply to that write is lost', async () => {
    await using own = await setUp();
    const { frozen, runs, hub, ends } = own;
    await runs.beginStep({ ...frozen, number: 0, said: 0, body: body(false) });
    const { end } = runs;
    runs.end = async (last) => {
      runs.end = end;
      await end(last);
      throw new StoreError('unreachable', 'the line broke after the commit');
    };
    await own.sweep(async () => undefined);
    await own.sweep(async () => undefined);
    await hub.close(1_000);
    expect(await runs.state(frozen.runId)).toMatchObject({ status: 'failed' });
    expect(ends).toMatchObject([{ status: 'failed', usage: used }]);
  });

  // Seed 442 of the simulation.
  it('reports it also where the reply is lost after the sweep has stopped waiting for it', async () => {
    await using own = await setUp();
    const { frozen, runs, hub, ends } = own;
    await runs.beginStep({ ...frozen, number: 0, said: 0, body: body(false) });
    const { end } = runs;
    runs.end = async (last) => {
      runs.end = end;
      await end(last);
      await sleep(1_100);
      throw new StoreError('unreachable', 'the line broke after the commit');
    };
    await expect(own.sweep(async () => undefined)).rejects.toThrow('the line broke after the commit');
    await waitFor('the end', () => ends.length > 0);
    await own.sweep(async () => undefined);
    await hub.close(1_000);
    expect(ends).toMatchObject([{ status: 'failed', usage: used }]);
  });

  it('continues with the others where one cannot be read now', async () => {
    await using own = await setUp();
    const { frozen, runs, hub, executed, begin } = own;
    await begin();
    const { steps } = runs;
    runs.steps = async (runId) => {
      if (runId === frozen.runId) throw new StoreError('unreachable', 'the line is broken');
      return steps(runId);
    };
    await expect(own.sweep(async () => undefined)).rejects.toThrow('the line is broken');
    runs.steps = steps;
    await waitFor('the other run', () => executed.length === 1);
    await hub.close(1_000);
  });

  it('leaves what its owner stores after the claim without effect', async () => {
    await using own = await setUp();
    const { frozen, runs, hub } = own;
    await own.sweep(async () => undefined);
    expect(await runs.beginStep({ ...frozen, number: 0, said: 0, body: body(false) })).toBe(false);
    await hub.close(1_000);
  });
});

it('a sweep that is asked for during a sweep finds what was left meanwhile', async () => {
  let executed = 0;
  await using own = await openHub('sqlite', {
    async execute() {
      executed += 1;
      return 'answered';
    },
  });
  const { store, hub, runs, logger, turn } = own;
  const leave = () =>
    beginRun(turn, {
      runs,
      instance: 'dead',
      send: undefined,
      now: Date.now(),
      reserve: () => () => {},
    });
  const parts = { store, databaseUrl: 'file:unused', redis: undefined, logger };
  let onLoad = async () => {};
  const upkeep = createRunUpkeep({
    cluster: createCluster(parts),
    store,
    hub,
    runs,
    logger,
    ...{ approvals: { expire: async () => {} }, retention: {} as RetentionRules },
    async loadTurn() {
      await onLoad();
      return turn;
    },
  });
  await leave();
  onLoad = async () => {
    onLoad = async () => {};
    await leave();
    void upkeep.sweep();
  };
  await upkeep.sweep();
  await waitFor('both runs', () => executed === 2, 3_000);
  await upkeep.stop();
});
