import { phoneNumberPattern } from '@palaver/contract';
import type { Kysely } from 'kysely';
import {
  type Clock,
  dayMs,
  insertOnce,
  type SmsTable,
  sealedTables,
  type Trx,
  type UssdStore,
  type UssdTables,
} from '../store/tables.ts';
import { createLastKnown, type OutboxParts, retryFailed, startOutbox, unsent } from './outbox.ts';
import type { SmsProvider } from './sms-provider.ts';

/** `caller`: whose key press sends it. */
type NewMessage = Pick<SmsTable, 'id' | 'program' | 'phone' | 'caller'> & { text: string; now: number };

const maxCounted = 10_000;
/** States of a receipt after which others come. */
const onTheWay = new Set(['ENROUTE', 'ACCEPTD', 'UNKNOWN']);
/** Two dialogues of full length. Whoever pays for messages is safe from a machine that answers each of them. */
export const answersPerDay = 100;

export function createMessages({ db, cipher, transaction }: UssdStore, { perDay }: { perDay: number }) {
  const countWaiting = createLastKnown(0, async () => {
    const queued = db.selectFrom('ussd_sms').select('id').where('status', 'in', ['queued', 'sending']);
    const { count } = await db
      .selectFrom(queued.limit(maxCounted).as('queued'))
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return Number(count);
  });
  const insert = async (on: Kysely<UssdTables>, { now, text, ...message }: NewMessage & { dialogue?: string }) => {
    const row: SmsTable = { ...message, body: text, created_at: now, ...unsent, status: 'queued', next_at: now };
    await insertOnce(on, 'ussd_sms', cipher.sealRow(sealedTables.sms, row));
  };
  const countOfDay = async (on: Kysely<UssdTables>, column: 'phone' | 'caller', number: string, now: number) => {
    const { all, answers } = await on
      .selectFrom('ussd_sms')
      .where(column, '=', cipher.token(number))
      .where('created_at', '>', now - dayMs)
      .select(({ fn }) => [fn.countAll<number>().as('all'), fn.count<number>('dialogue').as('answers')])
      .executeTakeFirstOrThrow();
    return { queued: Number(all) - Number(answers), answers: Number(answers) };
  };
  return {
    answersLeft: async (phone: string, now: number) =>
      answersPerDay - (await countOfDay(db, 'phone', phone, now)).answers,
    /** A screen of a dialogue by SMS, which the number itself asked for; `false` if the number has got the most of a day. */
    answer: (message: Omit<NewMessage, 'caller'> & { dialogue: string }) =>
      transaction(async (trx) => {
        const { answers } = await countOfDay(trx, 'phone', message.phone, message.now);
        if (answers < answersPerDay) await insert(trx, { ...message, caller: message.phone });
        return answers < answersPerDay;
      }),
    /** `reference` is the provider's own id, which another provider may give to a message too; `false` if it changes nothing. */
    async noteReceipt(reference: string, receipt: string, phone: string) {
      if (reference === '') return false;
      let changed = db.updateTable('ussd_sms').set({ receipt }).where('reference', '=', reference);
      // A number without its country is that of no row.
      if (phoneNumberPattern.test(phone)) changed = changed.where('phone', '=', cipher.token(phone));
      if (onTheWay.has(receipt)) changed = changed.where('receipt', 'is', null);
      return (await changed.executeTakeFirst()).numUpdatedRows > 0n;
    },
    /** `false` if the number is invalid or wants no messages, or if it or the caller has used up the daily number of messages. */
    async queue(trx: Trx, { id, program, phone, caller, text, now }: NewMessage) {
      if (!phoneNumberPattern.test(phone)) return false;
      const stopped = trx.selectFrom('ussd_profile').select('phone').where('phone', '=', cipher.token(phone));
      if (await stopped.where('stopped_at', 'is not', null).executeTakeFirst()) return false;
      if ((await countOfDay(trx, 'phone', phone, now)).queued >= perDay) return false;
      if ((await countOfDay(trx, 'caller', caller, now)).queued >= perDay) return false;
      await insert(trx, { id, program, phone, caller, text, now });
      return true;
    },
    retry: (now: number, only: { id?: string | undefined; program?: string | undefined } = {}) =>
      retryFailed(db, 'ussd_sms', { now, only }),
    countWaiting,
  };
}

export type Messages = ReturnType<typeof createMessages>;

export interface MessageSenderParts extends Omit<OutboxParts<'ussd_sms'>, 'table' | 'claimedStatus' | 'send'> {
  store: UssdStore;
  provider: SmsProvider;
  clock: Clock;
}

const doubt = 'the provider may have sent it';

/** A message whose outcome is unknown has failed, unless the provider recognises a repeat: an operator then decides. */
export function startMessageSender({ provider, ...parts }: MessageSenderParts) {
  return startOutbox({
    ...parts,
    table: 'ussd_sms',
    claimedStatus: 'sending',
    async send(row) {
      if (row.status === 'sending' && !provider.isIdempotent)
        return { ok: false, isFinal: true, fault: `the gateway ended while sending; ${doubt}` };
      const { id, phone, body } = parts.store.cipher.openRow(sealedTables.sms, row);
      const sent = await provider.send({ id, to: phone, text: body });
      if (sent.ok) return { ok: true, set: { reference: sent.reference ?? null } };
      const isInDoubt = sent.kind === 'unknown' && !provider.isIdempotent;
      return {
        ok: false,
        isFinal: sent.kind === 'refused' || isInDoubt,
        fault: isInDoubt ? `${sent.fault}; ${doubt}` : sent.fault,
      };
    },
  });
}
