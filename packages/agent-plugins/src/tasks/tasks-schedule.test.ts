import { expect, test } from 'vitest';
import { describeSchedule, findNextRun, planSchedule, type Wanted } from './tasks-schedule.ts';

const now = Date.parse('2026-03-25T10:00:00Z'); // a Wednesday
const at = (iso: string) => Date.parse(iso);

const plans: [Wanted, next: string, words: string][] = [
  [{ at: '2026-03-26T09:00' }, '2026-03-26T09:00:00Z', 'at 2026-03-26T09:00:00.000Z'],
  [{ at: '2026-03-26T09:00', timezone: 'Africa/Nairobi' }, '2026-03-26T06:00:00Z', 'at 2026-03-26T06:00:00.000Z'],
  [{ at: '2026-03-26T09:00:30+02:00', timezone: 'Asia/Tokyo' }, '2026-03-26T07:00:30Z', 'at 2026-03-26T07:00:30.000Z'],
  [{ at: '2026-03-26T09:00:00.000Z' }, '2026-03-26T09:00:00Z', 'at 2026-03-26T09:00:00.000Z'],
  [{ in: '10 minutes' }, '2026-03-25T10:10:00Z', 'at 2026-03-25T10:10:00.000Z'],
  [{ in: '1 week' }, '2026-04-01T10:00:00Z', 'at 2026-04-01T10:00:00.000Z'],
  [{ every: '90 minutes' }, '2026-03-25T11:30:00Z', 'every 90 minutes'],
  [{ every: '24 hours' }, '2026-03-26T10:00:00Z', 'every 1 day'],
  [{ cron: '0 9 * * 1', timezone: 'Africa/Nairobi' }, '2026-03-30T06:00:00Z', 'cron 0 9 * * 1'],
  [{ cron: ' 0 9 * * MON ' }, '2026-03-30T09:00:00Z', 'cron 0 9 * * MON'],
  // An hour that does not exist on the day the clocks go forward, and one that comes twice when they go back.
  [{ at: '2026-03-29T02:30', timezone: 'Europe/Berlin' }, '2026-03-29T01:30:00Z', 'at 2026-03-29T01:30:00.000Z'],
  [{ at: '2026-10-25T02:30', timezone: 'Europe/Berlin' }, '2026-10-25T00:30:00Z', 'at 2026-10-25T00:30:00.000Z'],
];

test.each(plans)('%j next runs at %s', (wanted, next, words) => {
  const planned = planSchedule(wanted, now);
  if ('error' in planned) throw new Error(planned.error);
  expect(new Date(planned.nextRunAt).toISOString()).toBe(new Date(next).toISOString());
  expect(describeSchedule(planned.schedule)).toBe(words);
});

test("the user's time zone counts where none is named", () => {
  expect(planSchedule({ cron: '0 9 * * *' }, now, 'Africa/Nairobi')).toMatchObject({
    timezone: 'Africa/Nairobi',
    nextRunAt: at('2026-03-26T06:00:00Z'),
  });
});

const refusals: [Wanted, string][] = [
  [{}, 'exactly one'],
  [{ at: '2030-01-01T00:00', cron: '0 9 * * *' }, 'exactly one'],
  [{ at: 'tomorrow' }, 'ISO 8601'],
  [{ at: '2026-13-01T00:00' }, 'ISO 8601'],
  [{ at: '2026-13-01T00:00Z' }, 'ISO 8601'],
  [{ at: '2026-03-25T09:59Z' }, 'past'],
  [{ at: '2020-01-01T00:00' }, 'past'],
  [{ at: '2099-01-01T00:00' }, 'five years'],
  [{ at: '2027-02-29T09:00' }, 'at must be'],
  [{ at: '2027-04-31T09:00:00Z' }, 'at must be'],
  [{ in: 'a while' }, 'in must be'],
  [{ in: '0 minutes' }, 'in must be'],
  [{ in: '999999 weeks' }, 'five years'],
  [{ every: '1 minute' }, 'five minutes'],
  [{ every: 'hour' }, 'every must be'],
  [{ cron: '* * * * *' }, 'five minutes'],
  [{ cron: '0,1 9 * * *' }, 'five minutes'],
  [{ cron: '0 0 9 * * 1' }, 'five fields'],
  [{ cron: '61 9 * * 1' }, 'five fields'],
  [{ cron: 'soon' }, 'five fields'],
  [{ cron: '0 0 31 2 *' }, 'never comes'],
  [{ in: '1 day', timezone: 'Mars/Olympus' }, 'IANA'],
];

test.each(refusals)('%j is refused: %s', (wanted, reason) => {
  expect(planSchedule(wanted, now)).toEqual({ error: expect.stringContaining(reason) });
});

test('a daily task keeps to the clock on the wall when the clocks change, and runs once a day', () => {
  const daily = { schedule: { kind: 'cron' as const, cron: '30 2 * * *' }, timezone: 'Europe/Berlin' };
  const runs: string[] = [];
  let run = at('2026-10-23T12:00:00Z');
  for (let count = 0; count < 3; count += 1) {
    run = findNextRun(daily, run) ?? 0;
    runs.push(new Date(run).toISOString());
  }
  expect(runs).toEqual(['2026-10-24T00:30:00.000Z', '2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z']);
  let spring = at('2026-03-28T12:00:00Z');
  const days = Array.from({ length: 3 }, () => {
    spring = findNextRun(daily, spring) ?? 0;
    return new Date(spring).toISOString().slice(0, 10);
  });
  expect(days).toEqual(['2026-03-29', '2026-03-30', '2026-03-31']);
});

test('spans are counted from the run before, and missed ones are left out', () => {
  const hourly = { schedule: { kind: 'every' as const, ms: 3_600_000 }, timezone: 'UTC' };
  const due = at('2026-03-25T08:00:00Z');
  expect(findNextRun(hourly, due + 5_000, due)).toBe(due + 3_600_000);
  expect(findNextRun(hourly, due + 3 * 3_600_000 + 1, due)).toBe(due + 4 * 3_600_000);
});
