import type { Started } from '../calls/start-calls.ts';
import type { MessagePart } from '../outgoing/smpp-text.ts';

/** More than the longest text that is read. */
const maxParts = 16;
/** A phone numbers its long texts up to 255 and then begins again. */
const keptMs = 3_600_000;

/** Keeps the parts of long texts, which may arrive in any order, at any instance and twice. */
export function createLongTexts({ store, keys, textHash, clock }: Started) {
  const { db, cipher } = store;
  return async (
    { reference, total, number }: MessagePart,
    { from, to, text }: Record<'from' | 'to' | 'text', string>,
  ) => {
    if (total > maxParts || number < 1 || number > total) return undefined;
    const key = `part-${textHash.ofText('part', `${from} ${to} ${reference} ${total}`)}`;
    const ids = Array.from({ length: total }, (_, index) => `${key}-${index + 1}`);
    const id = `${key}-${number}`;
    const now = clock.now();
    const row = {
      phone: cipher.token(from),
      version: 1,
      sealed: keys.seal(Buffer.from(text), id),
      kept_until: now + keptMs,
    };
    await db
      .insertInto('ussd_input')
      .values({ session_id: id, ...row })
      .onConflict((conflict) =>
        conflict.column('session_id').doUpdateSet(row).where('ussd_input.kept_until', '<=', now),
      )
      .execute();
    const all = db.selectFrom('ussd_input').selectAll().where('session_id', 'in', ids);
    const rows = await all.where('kept_until', '>', now).execute();
    const texts = new Map(
      rows.flatMap((kept) =>
        keys.has(kept.sealed) ? [[kept.session_id, keys.open(kept.sealed, kept.session_id).toString()]] : [],
      ),
    );
    if (texts.size < total) return undefined;
    return {
      text: ids.map((each) => texts.get(each)).join(''),
      /** The same for every instance that finds the text whole. */
      id: `${key} ${Math.min(...rows.map(({ kept_until }) => kept_until))}`,
      async forget() {
        await db.deleteFrom('ussd_input').where('session_id', 'in', ids).execute();
      },
    };
  };
}
