import { isTimeZone } from '@palaver/contract/internal';
import { Cron } from 'croner';
import { z } from 'zod';

export const storedScheduleSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('once'), at: z.number() }),
  z.object({ kind: z.literal('every'), ms: z.number() }),
  z.object({ kind: z.literal('cron'), cron: z.string() }),
]);

export type Schedule = z.infer<typeof storedScheduleSchema>;

export type Wanted = Partial<Record<'at' | 'in' | 'every' | 'cron' | 'timezone', string | undefined>>;

export type Planned = { schedule: Schedule; timezone: string; nextRunAt: number };

const minute = 60_000;
const units = { minute, hour: 60 * minute, day: 24 * 60 * minute, week: 7 * 24 * 60 * minute };
const shortestEvery = 5 * minute;
const furthest = 5 * 366 * units.day;

/** A refusal is a sentence for the model. */
export function planSchedule(wanted: Wanted, now: number, defaultZone = 'UTC'): Planned | { error: string } {
  const timezone = wanted.timezone ?? defaultZone;
  if (!isTimeZone(timezone))
    return { error: `"${timezone}" is not a time zone; give an IANA name such as Africa/Nairobi` };
  const schedule = readSchedule(wanted, now, timezone);
  if (typeof schedule === 'string') return { error: schedule };
  const nextRunAt = findNextRun({ schedule, timezone }, now);
  if (nextRunAt === undefined) return { error: 'that time is past, or never comes' };
  if (nextRunAt - now > furthest) return { error: 'that is more than five years ahead' };
  return { schedule, timezone, nextRunAt };
}

/** The first time after `after`; undefined if there is none any more. Spans are counted from the run before. */
export function findNextRun({ schedule, timezone }: Omit<Planned, 'nextRunAt'>, after: number, before = after) {
  switch (schedule.kind) {
    case 'once':
      return schedule.at > after ? schedule.at : undefined;
    case 'every':
      return before + (Math.floor((after - before) / schedule.ms) + 1) * schedule.ms;
    case 'cron':
      return toCron(schedule.cron, timezone).nextRun(new Date(after))?.getTime();
  }
}

export function describeSchedule(schedule: Schedule): string {
  switch (schedule.kind) {
    case 'once':
      return `at ${new Date(schedule.at).toISOString()}`;
    case 'every':
      return `every ${toSpan(schedule.ms)}`;
    case 'cron':
      return `cron ${schedule.cron}`;
  }
}

function readSchedule(wanted: Wanted, now: number, timezone: string): Schedule | string {
  const given = (['at', 'in', 'every', 'cron'] as const).filter((key) => wanted[key] !== undefined);
  if (given.length !== 1) return 'give exactly one of at, in, every and cron';
  if (wanted.at !== undefined) return readMoment(wanted.at, timezone);
  if (wanted.in !== undefined) {
    const ms = readSpan(wanted.in);
    return ms === undefined ? spanHint('in') : { kind: 'once', at: now + ms };
  }
  if (wanted.every !== undefined) {
    const ms = readSpan(wanted.every);
    if (ms === undefined) return spanHint('every');
    return ms < shortestEvery ? tooOften : { kind: 'every', ms };
  }
  return readCron(wanted.cron ?? '', now, timezone);
}

const tooOften = 'a task may run every five minutes at most';
const spanHint = (name: string) => `${name} must be a number of minutes, hours, days or weeks, such as "10 minutes"`;

function readSpan(text: string): number | undefined {
  const [, count, unit] = /^\s*(\d{1,6})\s*(minute|hour|day|week)s?\s*$/i.exec(text) ?? [];
  const size = Object.entries(units).find(([name]) => name === unit?.toLowerCase())?.[1] ?? 0;
  return Number(count) * size || undefined;
}

function toSpan(ms: number): string {
  const [name, size] = Object.entries(units)
    .toReversed()
    .find(([, unit]) => ms % unit === 0) ?? ['minute', minute];
  const count = ms / size;
  return count === 1 ? `1 ${name}` : `${count} ${name}s`;
}

const momentPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$/;

/** A time with an offset is what it says; one without is on the clock of the time zone. */
function readMoment(text: string, timezone: string): Schedule | string {
  const [, seconds, , offset] = momentPattern.exec(text) ?? [];
  const hint = 'at must be an ISO 8601 time such as 2030-05-01T09:00, on the clock of the time zone';
  // `Date` takes the 31st of April for the 1st of May.
  if (!momentPattern.test(text) || !z.iso.date().safeParse(text.slice(0, 10)).success) return hint;
  if (offset) {
    const at = Date.parse(text);
    return Number.isNaN(at) ? hint : { kind: 'once', at };
  }
  try {
    const local = text.slice(0, seconds ? 19 : 16) + (seconds ? '' : ':00');
    const at = new Cron(local, { paused: true, timezone }).nextRun(new Date(0));
    return at ? { kind: 'once', at: at.getTime() } : hint;
  } catch {
    return hint;
  }
}

function readCron(cron: string, now: number, timezone: string): Schedule | string {
  try {
    const job = toCron(cron, timezone);
    const runs = job.nextRuns(50, new Date(now)).map((run) => run.getTime());
    const isTooOften = runs.some((run, index) => index > 0 && run - (runs[index - 1] ?? 0) < shortestEvery);
    return isTooOften ? tooOften : { kind: 'cron', cron: cron.trim() };
  } catch {
    return 'cron must have five fields (minute hour day month weekday), such as "0 9 * * 1" for Mondays at 9';
  }
}

function toCron(cron: string, timezone: string): Cron {
  return new Cron(cron.trim(), { paused: true, timezone, mode: '5-part' });
}
