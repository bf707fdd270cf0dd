import { backKeyOf, canGoBack, type Dialogue, type Menu, nameOf, reservedKeys } from '@palaver/program/internal';
import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import { sql } from 'kysely';
import {
  answerColumns,
  type CallStatTable,
  callColumns,
  dayOf,
  type StatCount,
  type StateStatTable,
  statColumns,
  type UssdStore,
  type UssdTables,
} from '../store/tables.ts';

/** Times to an answer are counted in intervals with these upper limits; the last interval has none. */
export const answerSeconds = [2, 4, 7, 10, 15, 20, 30, 60, 120] as const;

type OpenedCall = Pick<StateStatTable, 'state' | 'language'> & Record<'isReturning' | 'isTexting', boolean>;

export interface CountedRequest {
  menu: Menu;
  now: number;
  opened?: OpenedCall | undefined;
  inputs: readonly TakenInput[];
  /** How long the caller looked at the screen that the last input answers. */
  waitedMs?: number | undefined;
  /** The caller sees another screen than that of the last state. */
  isCutOff?: boolean;
}

interface CountedQuestion {
  input: TakenInput;
  isShown: boolean;
  waitedMs: number | undefined;
}

export type TimedOut = Pick<StateStatTable, 'version' | 'state' | 'language'>;

/** A process that is killed loses what it counted in this time. */
const flushMs = 5_000;
const maxRows = 500;

const zeros = Object.fromEntries(statColumns.map((name) => [name, 0])) as Record<StatCount, number>;

/** Counts in memory, so that a key press costs no statement, and adds the counts to the tables every few seconds. */
export function startProgramStats(store: UssdStore, logger: Logger) {
  let states = new Map<string, StateStatTable>();
  let calls = new Map<string, CallStatTable>();
  let running: Promise<void> | undefined;

  function rowOf(day: number, version: string, { state, language }: Omit<TimedOut, 'version'>): StateStatTable {
    const id = `${day} ${version} ${state} ${language}`;
    const known = states.get(id);
    if (known) return known;
    const row = { day, program: nameOf(version), version, state, language, ...zeros };
    states.set(id, row);
    return row;
  }

  function addCall(day: number, version: string, { isReturning, isTexting }: OpenedCall): void {
    const id = `${day} ${version}`;
    const row = calls.get(id) ?? {
      day,
      program: nameOf(version),
      version,
      calls: 0,
      returning_calls: 0,
      text_calls: 0,
    };
    row.calls += 1;
    if (isReturning) row.returning_calls += 1;
    if (isTexting) row.text_calls += 1;
    calls.set(id, row);
  }

  /** Questions of a form are counted beside the state that asks them. */
  function countQuestion(menu: Menu, day: number, { input, isShown, waitedMs }: CountedQuestion): void {
    const { before, after } = input;
    const [from, to] = [questionOf(before), questionOf(after)];
    const outcome = questionOutcomeOf(menu, input);
    if (from !== undefined && outcome) {
      const row = rowOf(day, menu.id, { state: from, language: before.language });
      row[outcome] += 1;
      if (outcome === 'answered' && waitedMs !== undefined) row[toColumn(waitedMs)] += 1;
    }
    const isNew = to !== undefined && before.form?.progress.at !== after.form?.progress.at;
    if (isNew && isShown) rowOf(day, menu.id, { state: to, language: after.language }).shown += 1;
  }

  async function write(): Promise<void> {
    const [stateRows, callRows] = [[...states.values()], [...calls.values()]];
    [states, calls] = [new Map(), new Map()];
    try {
      while (stateRows.length > 0) {
        await addCounts(store.db, 'ussd_state_stat', stateRows.slice(0, maxRows));
        stateRows.splice(0, maxRows);
      }
      if (callRows.length > 0) await addCounts(store.db, 'ussd_call_stat', callRows);
    } catch (error) {
      logger.warn({ err: error }, 'counts of programs cannot be written now; they are kept for the next time');
      states = join(stateRows, states);
      calls = join(callRows, calls);
    }
  }

  const flush = async () => {
    // A write under way does not include what was counted since it began.
    await running;
    running ??= write().finally(() => {
      running = undefined;
    });
    await running;
  };
  const flushing = runEvery({
    everyMs: flushMs,
    work: async () => (states.size > 0 || calls.size > 0) && flush(),
    onFault() {},
  });

  return {
    count({ menu, now, opened, inputs, waitedMs, isCutOff = false }: CountedRequest) {
      const day = dayOf(now);
      const version = menu.id;
      if (opened) {
        addCall(day, version, opened);
        rowOf(day, version, opened).shown += 1;
      }
      for (const [i, input] of inputs.entries()) {
        const { before, after } = input;
        const isLast = i === inputs.length - 1;
        const isShown = !(isLast && isCutOff);
        countQuestion(menu, day, { input, isShown, waitedMs: isLast ? waitedMs : undefined });
        const outcome = outcomeOf(menu, input);
        if (!outcome) continue;
        const row = rowOf(day, version, before);
        row[outcome] += 1;
        if (isLast && outcome === 'answered' && waitedMs !== undefined) row[toColumn(waitedMs)] += 1;
        if (outcome !== 'refused' && isShown) rowOf(day, version, after).shown += 1;
      }
    },
    countTimedOut(timedOut: readonly TimedOut[], now: number) {
      for (const call of timedOut) rowOf(dayOf(now), call.version, call).timed_out += 1;
    },
    flush,
    async stop() {
      await flushing.stop();
      await flush();
    },
  };
}

export type ProgramStats = ReturnType<typeof startProgramStats>;

function toColumn(ms: number): (typeof answerColumns)[number] {
  const at = answerSeconds.findIndex((seconds) => ms < seconds * 1000);
  return answerColumns[at] ?? 'longer';
}

type StatRow = StateStatTable | CallStatTable;

/** Adds what was counted meanwhile to rows that could not be written. */
function join<Row extends StatRow>(rows: Row[], later: ReadonlyMap<string, Row>) {
  const joined = new Map<string, Row>();
  for (const row of [...rows, ...later.values()]) {
    const id = idOf(row);
    const before = joined.get(id);
    const sum = Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' && name !== 'day' ? value + Number(before?.[name as keyof Row] ?? 0) : value,
    ]);
    joined.set(id, Object.fromEntries(sum));
  }
  return joined;
}

const idOf = (row: StatRow) =>
  'state' in row ? `${row.day} ${row.version} ${row.state} ${row.language}` : `${row.day} ${row.version}`;

/** In one order everywhere: two instances that write the same rows do not wait for each other in a circle. */
const inOrder = (one: StatRow, other: StatRow) => (idOf(one) < idOf(other) ? -1 : 1);

const stateKey = ['day', 'program', 'version', 'state', 'language'] as const;
const callKey = ['day', 'program', 'version'] as const;

async function addCounts<Table extends 'ussd_state_stat' | 'ussd_call_stat'>(
  db: UssdStore['db'],
  table: Table,
  rows: UssdTables[Table][],
): Promise<void> {
  const [key, counts] = table === 'ussd_state_stat' ? [stateKey, statColumns] : [callKey, callColumns];
  const sums = counts.map((name) => [name, sql`${sql.ref(`${table}.${name}`)} + ${sql.ref(`excluded.${name}`)}`]);
  await db
    .insertInto(table as 'ussd_call_stat')
    .values((rows as CallStatTable[]).sort(inOrder))
    .onConflict((conflict) => conflict.columns(key as typeof callKey).doUpdateSet(Object.fromEntries(sums)))
    .execute();
}

type InputOutcome = 'answered' | 'refused' | 'back' | 'exited';

export interface TakenInput {
  before: Dialogue;
  value: string;
  after: Dialogue;
}

/** What an input did on the screen it was typed on; `undefined` if it turned a page, searched a list or stayed in a form. */
function outcomeOf(menu: Menu, { before, value, after }: TakenInput): InputOutcome | undefined {
  const state = menu.states.get(before.state);
  if (!state || state.kind === 'end') return undefined;
  if (value === reservedKeys.exit) return 'exited';
  if (after.state !== before.state) {
    const isBack = before.page === 0 && value === backKeyOf(menu, state, before) && canGoBack(menu, before);
    return isBack ? 'back' : 'answered';
  }
  if (state.kind === 'form' || after.page !== before.page || after.search !== before.search) return undefined;
  return after.hint === undefined ? 'answered' : 'refused';
}

/** Where the counts of a question of a form are kept: its state and its path, whatever instance of a repeat it is in. */
export function questionOf({ form }: Pick<Dialogue, 'form'>): string | undefined {
  return form && `${form.state}${form.progress.at.replace(/\[\d+\]/g, '')}`;
}

function questionOutcomeOf(menu: Menu, { before, value, after }: TakenInput): InputOutcome | undefined {
  const state = menu.states.get(before.state);
  if (!state || !before.form) return undefined;
  if (value === reservedKeys.exit) return 'exited';
  if (after.form?.progress.at !== before.form.progress.at)
    return before.page === 0 && value === backKeyOf(menu, state, before) ? 'back' : 'answered';
  return after.form.screen.hint && after.page === before.page ? 'refused' : undefined;
}
