import { createHash } from 'node:crypto';
import type { CelInput } from '@bufbuild/cel';
import {
  type ActionResult,
  computeFields,
  type Dialogue,
  filterRows,
  fromExpressionValue,
  holds,
  type Menu,
  nameOf,
  parseTotal,
  type Totals,
} from '@palaver/program/internal';
import { createLimiter } from '@palaver/service-kit/internal';
import type { MarkedRecord, RecordStore, StoredRecord, WantedRecords } from '../store/records.ts';
import type { Trx } from '../store/tables.ts';
import type { BuiltInCall, Runs } from './action.ts';

export function createRecordActions(records: RecordStore): Pick<Runs, 'store' | 'find' | 'total' | 'update'> {
  const toWanted = ({ menu, context }: BuiltInCall, { kind, of }: ScanOptions): WantedRecords => ({
    program: nameOf(menu.id),
    kind,
    phone: of === 'caller' ? context.phoneNumber : undefined,
  });
  async function* scanRows(call: BuiltInCall, options: ScanOptions): AsyncGenerator<Row> {
    let scanned = 0;
    for await (const batch of records.scan(toWanted(call, options))) {
      scanned += batch.length;
      if (scanned > maxScanned) throw tooMany(maxScanned, options.kind);
      options.onBatch?.(batch);
      yield* filter(call.menu, call.dialogue, batch, options.where);
    }
  }
  const toError = () => new Error('too many calls read the records of everyone');
  const scans = createLimiter({ ...scansAtOnce, toError });
  const checks = createLimiter({ ...checksAtOnce, toError });
  const scan = <T>(of: Totals['of'] | undefined, read: () => Promise<T>) => (of === 'everyone' ? scans(read) : read());
  async function computeTotals(call: BuiltInCall, { save, ...options }: Totals & ScanOptions, most = maxScanned) {
    const { count: size } = await records.mark({ ...toWanted(call, options), most });
    if (size > most) throw tooMany(most, options.kind);
    const totals = Object.entries(save).map(([name, source]) => ({ name, add: createTotal(parseTotal(source)) }));
    let count = 0;
    for await (const row of scanRows(call, options)) {
      count += 1;
      for (const { add } of totals) add(row);
    }
    return { count, values: Object.fromEntries(totals.map(({ name, add }) => [name, fromExpressionValue(add())])) };
  }
  /** Others wait for the transaction that writes, so the check is computed before it and only marks are compared in it. */
  async function checkAndWrite(call: WritingCall, { that, ...options }: Check & { kind: string }, write: Write) {
    const { menu, dialogue, context } = call;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const read = { count: 0, marks: 0n };
      const onBatch = (batch: MarkedRecord[]) => {
        read.count += batch.length;
        for (const { mark } of batch) read.marks += BigInt(mark);
      };
      const { values } = await computeTotals(call, { ...options, onBatch }, maxChecked);
      const isHeld = holds(menu, { ...dialogue, values: { ...dialogue.values, ...values } }, that);
      const committed = context.commit(async (trx) => {
        const now = await records.mark({ ...toWanted(call, options), most: maxChecked }, trx);
        if (now.count !== read.count || now.marks !== read.marks) throw new RecordsChanged();
        return { outcome: isHeld ? await write(trx) : 'refused', values };
      });
      const result = await committed.catch((error: unknown) => {
        if (!(error instanceof RecordsChanged)) throw error;
      });
      if (result) return result;
    }
    throw new Error(`others changed the records of the kind ${options.kind} each time a check had read them`);
  }
  const commit = (call: WritingCall, kind: string, write: Write): Promise<ActionResult> => {
    const { check } = call.spec;
    if (!check) return call.context.commit(async (trx) => ({ outcome: await write(trx) }));
    const run = () => checkAndWrite(call, { ...check, kind }, write);
    return check.of === 'everyone' ? checks(run) : run();
  };
  return {
    store: (call) =>
      commit(call, call.spec.store, async (trx) => {
        const { spec, menu, context } = call;
        const fields = computeRecord(call, spec.store, spec.fields);
        const { phoneNumber: phone, now, key } = context;
        await records.insert(trx, { id: toId(key), program: nameOf(menu.id), kind: spec.store, phone, fields, now });
        return 'stored';
      }),
    find: (call) =>
      scan(call.spec.of, async () => {
        const { save, limit: most, more } = call.spec;
        const rows: Row[] = [];
        for await (const row of scanRows(call, { ...call.spec, kind: call.spec.find }))
          if (rows.push(row) > most) break;
        return {
          outcome: rows.length > 0 ? 'found' : 'none',
          values: {
            [save]: JSON.stringify(rows.slice(0, most)),
            ...(more !== undefined && { [more]: String(rows.length > most) }),
          },
        };
      }),
    total: (call) =>
      scan(call.spec.of, async () => {
        const { count, values } = await computeTotals(call, { ...call.spec, kind: call.spec.total });
        return { outcome: count > 0 ? 'found' : 'none', values };
      }),
    async update(call) {
      const { spec } = call;
      const rows: Row[] = [];
      for await (const row of scanRows(call, { kind: spec.update, of: 'caller', where: spec.where })) rows.push(row);
      const fields = computeRecord(call, spec.update, spec.fields);
      // Another call may have changed them since.
      const matches = (record: StoredRecord) => filter(call.menu, call.dialogue, [record], spec.where).length > 0;
      return commit(call, spec.update, async (trx) => {
        let count = 0;
        for (const { id } of rows) if (await records.update(trx, { id, matches, fields })) count += 1;
        return count > 0 ? 'updated' : 'none';
      });
    },
  };
}

function filter(menu: Menu, dialogue: Dialogue, records: StoredRecord[], where: string | undefined): Row[] {
  const rows = records.map(
    ({ id, phoneNumber: phone, createdAt, fields }): Row => ({ ...fields, id, phone, date: createdAt.slice(0, 10) }),
  );
  return where === undefined ? rows : filterRows(menu, dialogue, { rows, where, toRow: (row) => row as CelInput });
}

/** The function adds a row, and without one returns the figure so far. Empty fields do not count. */
function createTotal(total: ReturnType<typeof parseTotal>): (row?: Row) => string | number {
  if (total.compute === 'count') {
    let count = 0;
    return (row) => (row ? ++count : count);
  }
  const { compute, field } = total;
  let result: string | number = compute === 'sum' ? 0 : '';
  return (row) => {
    const value = row?.[field];
    if (typeof value !== 'number' && typeof value !== 'string') return result;
    if (compute === 'sum') result = Number(result) + Number(value);
    else if (result === '' || (compute === 'min' ? value < result : value > result)) result = value;
    return result;
  };
}

/** A missing answer leaves its field empty, because `0` and `''` are answers. */
function computeRecord({ menu, dialogue }: BuiltInCall, kind: string, fields: Record<string, string>) {
  const isMissing = (source = '') => menu.types.has(source) && dialogue.values[source] === undefined;
  const types = menu.records[kind] ?? {};
  return Object.fromEntries(
    Object.entries(computeFields(menu, dialogue, fields)).map(([name, value]) => [
      name,
      value === null || isMissing(fields[name]) ? null : toType(types[name], value),
    ]),
  );
}

/** Values that do not match their field's declared type, such as a text where a server should give a number, are not kept. */
function toType(type: Menu['records'][string][string] | undefined, value: unknown): unknown {
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(value) ? value : null;
    case 'decimal':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    // Several choices are kept as ODK keeps them.
    default:
      return Array.isArray(value) ? value.join(' ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
  }
}

/** The most records that one key press reads; with more the call ends with an error text. */
const maxScanned = 100_000;
/** The same for everyone's records, because a telecom gateway waits only some seconds. */
const scansAtOnce = { concurrency: 2, maxWaiting: 20, maxWaitMs: 3_000 };
/** One at a time, each followed by a pause of its own length: on SQLite the next key press waits for their reads. */
const checksAtOnce = { ...scansAtOnce, concurrency: 1, pauses: true };
const maxChecked = 20_000;
/** How often a check reads records that others have changed meanwhile. */
const maxAttempts = 10;

class RecordsChanged extends Error {}

const tooMany = (most: number, kind: string) =>
  new Error(`a program reads more than ${most} records of the kind ${kind}`);

type Row = Record<string, unknown> & { id: string };

type WritingCall = BuiltInCall<'store' | 'update'>;
type Check = NonNullable<WritingCall['spec']['check']>;
/** Returns the outcome. */
type Write = (trx: Trx) => Promise<string>;

interface ScanOptions {
  kind: string;
  of: Totals['of'];
  where?: string | undefined;
  onBatch?(batch: MarkedRecord[]): void;
}

/** Short enough to be typed and shown, and the same for a retry. */
export function toId(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
