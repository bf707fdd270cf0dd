import { randomUUID } from 'node:crypto';
import { unreadableText } from '@palaver/store/internal';
import { dayMs, sealedTables, toTime, type UssdAudit, type UssdStore, type UssdTables } from '../store/tables.ts';

type By = { actor: `operator:${string}`; from: string };

/** Payout addresses that one admin has proposed and another must approve. */
export function createAddressChanges(store: UssdStore, audit: UssdAudit) {
  const { cipher } = store;
  return {
    /** `undefined` if no account has the number. A new proposal for an account replaces the one before. */
    propose: (phone: string, address: string | null, by: By) =>
      store.transaction(async (trx) => {
        const accounts = trx.selectFrom('ussd_account').select('id').where('phone', '=', cipher.token(phone));
        const account = await accounts.executeTakeFirst();
        if (!account) return undefined;
        await trx.deleteFrom('ussd_address_change').where('account_id', '=', account.id).execute();
        await trx.deleteFrom('ussd_address_change').where('expires_at', '<=', Date.now()).execute();
        const change = { id: randomUUID(), address, proposed_by: by.actor, expires_at: Date.now() + dayMs };
        await trx
          .insertInto('ussd_address_change')
          .values(cipher.sealRow(sealedTables.addressChange, { ...change, account_id: account.id }))
          .execute();
        await audit.record({ ...by, action: 'address.proposed', subject: audit.person(phone) }, trx);
        return toChange({ ...change, phone });
      }),
    async list() {
      const rows = await store.db
        .selectFrom('ussd_address_change as change')
        .innerJoin('ussd_account as account', 'account.id', 'change.account_id')
        .select(['change.id', 'account.phone', 'change.address', 'change.proposed_by', 'change.expires_at'])
        .where('change.expires_at', '>', Date.now())
        .orderBy('change.expires_at')
        .limit(1000)
        .execute();
      const instead = { address: unreadableText, phone: unreadableText };
      const table = { ...sealedTables.addressChange, tokens: ['phone'] };
      return rows.map((row) => toChange(cipher.openRow(table, row, instead)));
    },
    /** Takes a proposal away, so that it is approved or rejected once only. */
    async remove(id: string) {
      const removal = store.db.deleteFrom('ussd_address_change').where('id', '=', id);
      const { numDeletedRows } = await removal.where('expires_at', '>', Date.now()).executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}

type Row = Omit<UssdTables['ussd_address_change'], 'account_id'> & { phone: string };

function toChange(row: Row) {
  return {
    id: row.id,
    phoneNumber: row.phone,
    address: row.address,
    proposedBy: row.proposed_by.replace(/^operator:/, ''),
    expiresAt: toTime(row.expires_at),
  };
}
