import { createHash } from 'node:crypto';
import { computeFields, filterRows } from '../menu/evaluate.ts';
import { nameOf } from '../menu/menu.ts';
import type { RecordStore } from '../records/records.ts';
import type { BuiltInCall, Runs } from './built-in-actions.ts';

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
    store: ({ spec, menu, dialogue, context }) =>
      context.commit(async (trx) => {
        const fields = computeFields(menu, dialogue, spec.fields);
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
      const { spec, menu, dialogue, context } = call;
      const rows = await findRows(call, spec.update, { phone: context.phoneNumber, where: spec.where });
      const fields = computeFields(menu, dialogue, spec.fields);
      return context.commit(async (trx) => {
        for (const { id } of rows) await records.update(trx, id, fields);
        return { outcome: rows.length > 0 ? 'updated' : 'none' };
      });
    },
  };
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
