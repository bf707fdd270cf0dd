import { randomUUID } from 'node:crypto';
import { AppError, ussdLimits } from '@palaver/contract';
import { keyIdOf, readPieces, unreadableText } from '@palaver/store/internal';
import { type Kysely, sql } from 'kysely';
import { createSetNotice } from '../store/notices.ts';
import {
  type AccountTable,
  type By,
  type Clock,
  dayMs,
  insertOnce,
  sealedTables,
  type Trx,
  type UssdAudit,
  type UssdStore,
  type UssdTables,
} from '../store/tables.ts';
import { makePin } from './pin-rules.ts';
import {
  countFailure,
  isLocked,
  isLockedForGood,
  type Lockout,
  minutesLeft,
  noFailures,
  type PinVault,
  resetFailures,
} from './pin-vault.ts';

const unreadable = { name: unreadableText, address: unreadableText, did: unreadableText };
const maxLinkTries = 5;

export type PinCheck =
  | { kind: 'right'; account: AccountTable }
  | { kind: 'wrong'; left: number }
  | { kind: 'locked'; minutes: number; forGood: boolean; newly: boolean };

/** What is known after hashing, to be counted inside the transaction of the action that asked for the PIN. */
export interface CheckedPin {
  account: AccountTable;
  /** `undefined` where the account was locked: then nothing was hashed. */
  matches: boolean | undefined;
}

export function createAccounts(
  store: UssdStore,
  { vault, audit, clock }: { vault: PinVault; audit: UssdAudit; clock: Clock },
) {
  const { cipher } = store;
  const setNotice = createSetNotice(cipher);
  const findBy = async (db: Kysely<UssdTables>, column: 'id' | 'phone', value: string) => {
    const key = column === 'phone' ? cipher.token(value) : value;
    const row = await db.selectFrom('ussd_account').selectAll().where(column, '=', key).executeTakeFirst();
    return row && cipher.openRow(sealedTables.account, row, unreadable);
  };
  async function setWallet(trx: Trx, id: string, wallet: Pick<AccountTable, 'address' | 'did'>): Promise<void> {
    const { address, did } = cipher.sealRow(sealedTables.account, { id, ...wallet });
    await trx.updateTable('ussd_account').set({ address, did }).where('id', '=', id).execute();
  }
  async function setPin(trx: Trx, { id, phone }: AccountTable, pin: string): Promise<void> {
    const change = { pin, ...noFailures };
    await trx.updateTable('ussd_account').set(change).where('id', '=', id).execute();
    await setNotice(trx, { phone, now: clock.now() }, 'pinChanged');
  }
  return {
    find: (phone: string) => findBy(store.db, 'phone', phone),
    /** Hashes the PIN outside of a transaction. `insert` then writes inside one; false if the number already has an account. */
    async prepare({ phone, name, pin, address }: { phone: string; name: string; pin: string; address: string | null }) {
      const id = randomUUID();
      const record = await vault.create(pin, id);
      const linked = { did: null, link_tries: 0, link_tried_at: 0 };
      const account = { id, phone, name, pin: record, address, created_at: clock.now(), ...noFailures, ...linked };
      return {
        account,
        insert: (trx: Trx) => insertOnce(trx, 'ussd_account', cipher.sealRow(sealedTables.account, account)),
      };
    },
    async checkPin(account: AccountTable, pin: string): Promise<CheckedPin> {
      if (isLocked(account, clock.now())) return { account, matches: undefined };
      return { account, matches: await vault.verify(pin, account.pin, account.id) };
    },
    /** Counts the attempt. Only this result may be shown to the user: parallel guesses are counted one by one. */
    async countPin(trx: Trx, { account: seen, matches }: CheckedPin): Promise<PinCheck> {
      const now = clock.now();
      const account = await findBy(trx, 'id', seen.id);
      if (!account) throw new Error('the account is gone');
      const locked = (lockout: Lockout, newly: boolean): PinCheck => ({
        kind: 'locked',
        minutes: minutesLeft(lockout, now),
        forGood: isLockedForGood(lockout),
        newly,
      });
      // A lock that has ended since may have hidden a right PIN, which counts as no try.
      if (matches === undefined || isLocked(account, now)) return locked(account, false);
      const right = matches && vault.isSame(account.pin, seen.pin, account.id);
      const next = right ? resetFailures(account) : countFailure(account, now);
      const isClean = right && account.failed === 0 && account.locks === 0 && account.locked_until === null;
      if (!isClean) await trx.updateTable('ussd_account').set(next).where('id', '=', account.id).execute();
      if (right) return { kind: 'right', account };
      if (isLocked(next, now)) return locked(next, true);
      return { kind: 'wrong', left: ussdLimits.pinAttempts - next.failed };
    },
    hashNewPin: (account: AccountTable, pin: string) => vault.create(pin, account.id),
    setPin,
    setAddress: (phone: string, address: string | null, by: By) =>
      store.transaction(async (trx) => {
        const account = await findBy(trx, 'phone', phone);
        if (!account) return false;
        await setWallet(trx, account.id, { address, did: null });
        const details = { from: shorten(account.address), to: shorten(address) };
        await audit.record({ ...by, action: 'address.changed', subject: audit.person(phone), details }, trx);
        await setNotice(trx, { phone, now: clock.now() }, 'addressChanged');
        return true;
      }),
    async link(trx: Trx, { id, phone }: AccountTable, wallet: { did: string; address: string }) {
      await setWallet(trx, id, wallet);
      await setNotice(trx, { phone, now: clock.now() }, 'walletLinked');
    },
    /** Counts that a code or a recipient was tried; false if there were too many in a day. */
    async countLinkTry(trx: Trx, accountId: string) {
      const now = clock.now();
      const isNewDay = sql<boolean>`link_tried_at <= ${now - dayMs}`;
      const { link_tries: tries } = await trx
        .updateTable('ussd_account')
        .set({
          link_tries: sql`case when ${isNewDay} then 1 else link_tries + 1 end`,
          link_tried_at: sql`case when ${isNewDay} then ${sql.lit(now)} else link_tried_at end`,
        })
        .where('id', '=', accountId)
        .returning('link_tries')
        .executeTakeFirstOrThrow();
      return tries <= maxLinkTries;
    },
    unlock: (phone: string, by: By) =>
      store.transaction(async (trx) => {
        const account = await findBy(trx, 'phone', phone);
        if (!account) return false;
        await trx.updateTable('ussd_account').set(noFailures).where('id', '=', account.id).execute();
        const details = { account: account.id, failures: account.failed_total };
        await audit.record({ ...by, action: 'account.unlocked', subject: audit.person(phone), details }, trx);
        if (isLocked(account, clock.now()) || isLockedForGood(account))
          await setNotice(trx, { phone, now: clock.now() }, 'unlocked');
        return true;
      }),
    /** Sets a new PIN and gives it, for the operator to pass on; `undefined` when the number has no account. Of two at once one throws. */
    async resetPin(phone: string, by: By) {
      const account = await findBy(store.db, 'phone', phone);
      if (!account) return undefined;
      const pin = makePin({ phoneNumber: phone });
      const record = await vault.create(pin, account.id);
      await store.transaction(async (trx) => {
        const current = await findBy(trx, 'id', account.id);
        if (!current || !vault.isSame(current.pin, account.pin, account.id))
          throw new AppError(
            'CONFLICT',
            'The PIN was changed by someone else at the same time. Load the caller again.',
          );
        await setPin(trx, account, record);
        const details = { account: account.id, failures: account.failed_total };
        await audit.record({ ...by, action: 'pin.reset', subject: audit.person(phone), details }, trx);
      });
      return pin;
    },
    rotate: (currentKeyId: string) => rotatePins(store, vault, currentKeyId),
  };
}

export type Accounts = ReturnType<typeof createAccounts>;

/** Enough of an address to recognise it by; it leads to a person, so the audit log does not keep it whole. */
export function shorten<T extends string | null>(address: T): T | string {
  return address && `${address.slice(0, 6)}…${address.slice(-6)}`;
}

async function rotatePins(store: UssdStore, vault: PinVault, currentKeyId: string): Promise<number> {
  let changed = 0;
  const accounts = store.db.selectFrom('ussd_account').select(['id', 'pin']).orderBy('id');
  const load = (last: { id: string; pin: string } | undefined, limit: number) =>
    accounts
      .where('id', '>', last?.id ?? '')
      .limit(limit)
      .execute();
  for await (const page of readPieces(load)) {
    for (const { id, pin } of page.filter((row) => keyIdOf(row.pin) !== currentKeyId)) {
      // Only over the record that was read: a PIN changed meanwhile is sealed with the new key already.
      const update = store.db.updateTable('ussd_account').set({ pin: vault.reseal(pin, id) });
      const { numUpdatedRows } = await update.where('id', '=', id).where('pin', '=', pin).executeTakeFirst();
      changed += Number(numUpdatedRows);
    }
  }
  return changed;
}
