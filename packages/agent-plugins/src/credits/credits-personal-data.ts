import { randomUUID } from 'node:crypto';
import type { AgentPerson } from '@palaver/agent';
import type { PersonalData } from '@palaver/store';
import { sql } from 'kysely';

const namedTables = [
  'agent_credit_transaction',
  'agent_credit_hold',
  'agent_credit_claim',
  'agent_credit_payment',
  'agent_credit_subscription',
  'agent_usage_claim',
];
const accountsOf = (name: string) => [`user:${name}`, `held:${name}`];

/**
 * The books must still balance, so an erased user's entries stay under a random name that cannot be traced to them.
 */
export const creditsPersonalData: PersonalData<AgentPerson> = {
  tables: [
    'agent_credit_account',
    'agent_credit_transaction',
    'agent_credit_entry',
    'agent_credit_hold',
    'agent_credit_claim',
    'agent_credit_payment',
    'agent_credit_subscription',
    'agent_usage_claim',
  ],
  async collect(db, { did }) {
    const accounts = accountsOf(did);
    const rowsOf = (table: string) => db.selectFrom(table).selectAll().where('user_did', '=', did).execute();
    return {
      agent_credit_account: await db
        .selectFrom('agent_credit_account')
        .selectAll()
        .where('id', 'in', accounts)
        .execute(),
      agent_credit_transaction: await rowsOf('agent_credit_transaction'),
      agent_credit_entry: await db
        .selectFrom('agent_credit_entry')
        .selectAll()
        .where('account_id', 'in', accounts)
        .execute(),
      agent_credit_hold: await rowsOf('agent_credit_hold'),
      agent_credit_claim: await rowsOf('agent_credit_claim'),
      agent_credit_payment: await rowsOf('agent_credit_payment'),
      agent_credit_subscription: await rowsOf('agent_credit_subscription'),
      agent_usage_claim: await rowsOf('agent_usage_claim'),
    };
  },
  async erase(trx, { did, reference }) {
    const name = `erased:${randomUUID()}`;
    for (const [index, account] of accountsOf(did).entries()) {
      const to = accountsOf(name)[index];
      await sql`insert into agent_credit_account (id, balance)
        select ${to}, balance from agent_credit_account where id = ${account}`.execute(trx);
      await sql`update agent_credit_entry set account_id = ${to} where account_id = ${account}`.execute(trx);
      await sql`delete from agent_credit_account where id = ${account}`.execute(trx);
    }
    // The id of the first grant names the user. A keyed hash stays, so that the free credit is given once.
    const [grant, renamed] = [`grant:${did}`, `grant:${reference}`];
    await sql`insert into agent_credit_transaction (id, kind, user_did, created_at)
      select ${renamed}, kind, ${name}, created_at from agent_credit_transaction where id = ${grant}`.execute(trx);
    await sql`update agent_credit_entry set transaction_id = ${renamed} where transaction_id = ${grant}`.execute(trx);
    await sql`delete from agent_credit_transaction where id = ${grant}`.execute(trx);
    // What the chain has of a payment is public; the memo may name the user.
    await sql`update agent_credit_payment set memo = '' where user_did = ${did}`.execute(trx);
    for (const table of namedTables) {
      await sql`update ${sql.table(table)} set user_did = ${name} where user_did = ${did}`.execute(trx);
    }
  },
};
