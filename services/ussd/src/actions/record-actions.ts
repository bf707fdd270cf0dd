import { createHash } from 'node:crypto';
import type { Records } from '../menu/built-in-actions.ts';
import { computeFields, filterRows } from '../menu/evaluate.ts';
import { nameOf } from '../menu/menu.ts';
import type { RecordStore } from '../records/records.ts';
import type { BuiltInCall, Runs } from './built-in-call.ts';

/** Records that programs keep: `store`, `find` and `update`. */
export function createRecordActions(records: RecordStore): Pick<Runs, 'store' | 'find' | 'update'> {
  const findRows = async ({ menu, dialogue }: BuiltInCall, kind: string, options: FindOptions) => {
    const found = await records.find({ program: nameOf(menu.id), kind, phone: options.phone, limit: searched });
    const rows = found.map(({ id, phoneNumber, createdAt, fields }) => ({
      ...fields,
      id,
      phone: phoneNumber,
      date: createdAt.slice(0, 10),
    }));
    const { where } = options;
    return where === undefined
      ? rows
      : filterRows(menu, dialogue, { rows, where, toRow: (row) => row as Record<string, string> });
  };
  return {
    store: (call) =>
      call.context.commit(async (trx) => {
        const { spec, menu, context } = call;
        const fields = computeRecord(call, spec.store, spec.fields);
        const { phoneNumber: phone, now, key } = context;
        await records.insert(trx, { id: toId(key), program: nameOf(menu.id), kind: spec.store, phone, fields, now });
        return { outcome: 'stored' };
      }),
    async find(call) {
      const { find, of, where, save, limit } = call.spec;
      const phone = of === 'caller' ? call.context.phoneNumber : undefined;
      const rows = (await findRows(call, find, { phone, where })).slice(0, limit);
      return { outcome: rows.length > 0 ? 'found' : 'none', values: { [save]: JSON.stringify(rows) } };
    },
    async update(call) {
      const { spec, context } = call;
      const rows = await findRows(call, spec.update, { phone: context.phoneNumber, where: spec.where });
      const fields = computeRecord(call, spec.update, spec.fields);
      return context.commit(async (trx) => {
        for (const { id } of rows) await records.update(trx, id, fields);
        return { outcome: rows.length > 0 ? 'updated' : 'none' };
      });
    },
  };
}

/** A missing answer leaves its field empty: `0` and `''` would be answers. */
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

/** What has not the type that its field declares, such as a text where a server should give a number, is not kept. */
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

/** The newest records that a `where` looks through. */
const searched = 1_000;

interface FindOptions {
  phone: string | undefined;
  where?: string | undefined;
}

/** Short enough to be typed and shown, and the same for a retry. */
export function toId(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
