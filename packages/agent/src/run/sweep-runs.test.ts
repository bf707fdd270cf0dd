import { engines, waitFor } from '@palaver/test-kit';
import { describe, expect, it } from 'vitest';
import { openHub } from '../../test/open-hub.ts';
import { createCluster } from '../cluster/create-cluster.ts';
import type { TurnEnd } from '../plugins/middleware.ts';
import { createInstanceStore } from '../store/instances.ts';
import type { RetentionRules } from '../store/retention.ts';
import { beginRun } from './begin-run.ts';
import { createRunUpkeep } from './run-upkeep.ts';
import { sweepRuns } from './sweep-runs.ts';

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
    const { runs, interrupted, hub, logger, store, turn } = own;
    const begun = await beginRun(turn, {
      ...{ runs, instance: 'frozen', send: undefined, now: Date.now() },
      reserve: () => () => {},
    });
    if ('known' in begun) throw new Error('a new run');
    return {
      ...own,
      executed,
      ends,
      frozen: begun.owned,
      /** `onRead`: what the frozen owner does once the sweep has read the run. */
      sweep: (onRead: () => Promise<unknown>) =>
        sweepRuns({
          ...{ instance: 'test', isAlone: true, instances: createInstanceStore(store), interrupted, runs, hub, logger },
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
  const { store, hub, runs, interrupted, logger, turn } = own;
  const leave = () =>
    beginRun(turn, {
      ...{ runs, instance: 'dead', send: undefined, now: Date.now() },
      reserve: () => () => {},
    });
  const parts = { store, databaseUrl: 'file:unused', redis: undefined, logger };
  let onLoad = async () => {};
  const upkeep = createRunUpkeep({
    ...{ cluster: createCluster(parts), store, hub, runs, interrupted, logger },
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
