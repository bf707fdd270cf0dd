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
  type Records,
  type Totals,
} from '@palaver/program/internal';
import { createLimiter } from '@palaver/service-kit/internal';
import type { Transaction } from 'kysely';
import type { RecordStore, StoredRecord } from '../store/records.ts';
import type { UssdTables } from '../store/tables.ts';
import type { BuiltInCall, Runs } from './keyword-call.ts';

/** Records that programs keep: `store`, `find`, `total` and `update`. */
export function createRecordActions(records: RecordStore): Pick<Runs, 'store' | 'find' | 'total' | 'update'> {
  /** Every record for which `where` holds, the newest first, as expressions see it. */
  async function* scanRows(
    { menu, dialogue, context }: BuiltInCall,
    { kind, of, where, trx }: ScanOptions,
  ): AsyncGenerator<Row> {
    const phone = of === 'caller' ? context.phoneNumber : undefined;
    const most = trx ? maxChecked : maxScanned;
    let scanned = 0;
    for await (const batch of records.scan({ program: nameOf(menu.id), kind, phone }, trx)) {
      scanned += batch.length;
      if (scanned > most) throw new Error(`a program reads more than ${most} records of the kind ${kind}`);
      yield* filter(menu, dialogue, batch, where);
    }
  }
  const toError = () => new Error('too many calls read the records of everyone');
  const scans = createLimiter({ ...scansAtOnce, toError });
  const checks = createLimiter({ ...checksAtOnce, toError });
  const scan = <T>(of: Totals['of'] | undefined, read: () => Promise<T>) => (of === 'everyone' ? scans(read) : read());
  async function computeTotals(call: BuiltInCall, { save, ...options }: Totals & ScanOptions) {
    const totals = Object.entries(save).map(([name, source]) => ({ name, add: createTotal(parseTotal(source)) }));
    let count = 0;
    for await (const row of scanRows(call, options)) {
      count += 1;
      for (const { add } of totals) add(row);
    }
    return { count, values: Object.fromEntries(totals.map(({ name, add }) => [name, fromExpressionValue(add())])) };
  }
  /** Writes if the check of the action holds, in the transaction that writes. */
  const commit = (
    call: BuiltInCall<'store' | 'update'>,
    kind: string,
    write: (trx: Transaction<UssdTables>) => Promise<string>,
  ): Promise<ActionResult> => {
    const { spec, menu, dialogue, context } = call;
    const { check } = spec;
    if (!check) return context.commit(async (trx) => ({ outcome: await write(trx) }));
    const checkAndWrite = () =>
      context.commit(async (trx) => {
        const { values } = await computeTotals(call, { ...check, kind, trx });
        const isHeld = holds(menu, { ...dialogue, values: { ...dialogue.values, ...values } }, check.that);
        return { outcome: isHeld ? await write(trx) : 'refused', values };
      });
    return check.of === 'everyone' ? checks(checkAndWrite) : checkAndWrite();
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

/** The records for which `where` holds, as expressions see them. */
function filter(menu: Menu, dialogue: Dialogue, records: StoredRecord[], where: string | undefined): Row[] {
  const rows = records.map(
    ({ id, phoneNumber, createdAt, fields }): Row => ({
      ...fields,
      id,
      phone: phoneNumber,
      date: createdAt.slice(0, 10),
    }),
  );
  return where === undefined ? rows : filterRows(menu, dialogue, { rows, where, toRow: (row) => row as CelInput });
}

/** Adds one record after the other and returns the figure at the end. Empty fields do not count. */
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
function toType(type: Records[string][string] | undefined, value: unknown): unknown {
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
/** One scan at a time, because other writes wait for it. */
const checksAtOnce = { ...scansAtOnce, concurrency: 1 };
/** The same inside the transaction of a write, for which other writes wait. */
const maxChecked = 20_000;

type Row = Record<string, unknown> & { id: string };

interface ScanOptions {
  kind: string;
  of: Totals['of'];
  where?: string | undefined;
  trx?: Transaction<UssdTables>;
}

/** Short enough to be typed and shown, and the same for a retry. */
export function toId(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
