import { engines, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openHub } from '../../test/open-hub.ts';
import { RunCancelled } from './stream-error.ts';

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

describe.each(engines)('on %s', (engine) => {
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
