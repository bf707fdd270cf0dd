import type { Database } from '../../../../packages/store/test/simulation/database.ts';
import { Violation } from '../../../../packages/store/test/simulation/outcome.ts';
import type { World } from '../../../../packages/store/test/simulation/world.ts';
import { holderAccount } from '../../src/money/books.ts';
import { sessionStatus } from '../../src/store/session-row.ts';
import type { UssdTables } from '../../src/store/tables.ts';
import { type Chain, denom, reward } from './chain.ts';
import { timeoutMs } from './instance.ts';

export type Effect = 'deposit' | 'message' | 'payment' | 'report' | 'payout';

/** What a caller wanted, each with a number of its own. */
export interface Intent {
  effect: Effect;
  /** As it is stored or sent. */
  sum: number;
  /** The caller has read that it is done. */
  isConfirmed: boolean;
}

/** What the servers beyond the service have received, by sum. */
export interface Received {
  messages: Map<number, { ids: Set<string>; times: number }>;
  /** The keys of payments; each is carried out once. */
  payments: Map<number, Set<string>>;
  isIdempotent: boolean;
}

export type Checks = ReturnType<typeof createChecks>;

const fail = (message: string): never => {
  throw new Violation(message);
};

/** An effect happens once, what is confirmed is there, a reply that is repeated is the same, and money balances. */
export function createChecks(
  world: World,
  { sqlite }: Pick<Database<UssdTables>, 'sqlite'>,
  { chain, received }: { chain: Chain; received: Received },
) {
  const rows = <T>(query: string) => {
    const statement = sqlite.prepare(query);
    return () => statement.all() as unknown as T[];
  };
  const changes = rows<{ n: number }>('select total_changes() as n');
  const entries = rows<{ transaction_id: string; account_id: string; amount: string }>(
    'select * from ussd_money_entry',
  );
  const balances = rows<{ id: string; balance: string }>('select * from ussd_money_account');
  const claims = rows<UssdTables['ussd_claim']>('select * from ussd_claim');
  const payouts = rows<UssdTables['ussd_payout']>('select * from ussd_payout');
  const transactions = rows<UssdTables['ussd_tx']>('select * from ussd_tx');
  const messages = rows<UssdTables['ussd_sms']>('select * from ussd_sms');
  const records = rows<{ kind: string; fields: string }>('select kind, fields from ussd_record');
  const accounts = rows<{ id: string; phone: string }>('select id, phone from ussd_account');
  const sessions = rows<{ id: string; status: number; seen_at: number }>(
    'select id, status, seen_at from ussd_session',
  );
  const intents: Intent[] = [];
  const replies = new Map<string, string>();
  let seen = -1;

  function checkBooks(): void {
    const sums = new Map<string, bigint>();
    const ofAccounts = new Map<string, bigint>();
    for (const { transaction_id, account_id, amount } of entries()) {
      sums.set(transaction_id, (sums.get(transaction_id) ?? 0n) + BigInt(amount));
      ofAccounts.set(account_id, (ofAccounts.get(account_id) ?? 0n) + BigInt(amount));
    }
    for (const [id, sum] of sums) if (sum !== 0n) fail(`transaction ${id} sums to ${sum}`);
    for (const { id, balance } of balances()) {
      if (BigInt(balance) !== (ofAccounts.get(id) ?? 0n))
        fail(`${id} has ${balance}, and its entries sum to ${ofAccounts.get(id)}`);
      if (id.startsWith('holder:') && BigInt(balance) < 0n) fail(`${id} has ${balance}`);
    }
  }

  const noteOf = ({ body }: { body: string }) => Number(body.replace('Note ', ''));
  const fieldsOf = ({ fields }: { fields: string }) => JSON.parse(fields) as Record<string, unknown>;
  /** How often an intent was carried out. */
  function countOf({ effect, sum }: Intent): number {
    if (effect === 'deposit')
      return records().filter((row) => row.kind === 'deposit' && fieldsOf(row).sum === sum).length;
    if (effect === 'report')
      return records().filter((row) => row.kind !== 'deposit' && Number(fieldsOf(row).amount) === sum).length;
    if (effect === 'message') return messages().filter((row) => noteOf(row) === sum).length;
    if (effect === 'payout') return payouts().filter(({ amount }) => Number(amount) === sum).length;
    return received.payments.get(sum)?.size ?? 0;
  }

  const paidTo = (amount: number) => chain.transfers.filter((sent) => sent === amount).length;

  return {
    intent(effect: Effect, sum: number): Intent {
      const intent = { effect, sum, isConfirmed: false };
      intents.push(intent);
      return intent;
    },

    /** Two replies to one request of a telecom gateway, which it repeats. */
    reply(sessionId: string, text: string, given: string): void {
      const key = `${sessionId} ${text}`;
      const known = replies.get(key);
      if (known !== undefined && known !== given)
        fail(`${key} is answered with ${JSON.stringify(known)} and ${JSON.stringify(given)}`);
      replies.set(key, given);
    },

    /** After everything that may have changed the database. */
    check(): void {
      const { n } = changes()[0] as { n: number };
      if (n === seen) return;
      seen = n;
      checkBooks();
      for (const [sum, keys] of received.payments)
        if (keys.size > 1) fail(`payment ${sum} is made under ${keys.size} keys`);
      for (const [sum, { ids, times }] of received.messages)
        if (ids.size > 1 || (times > 1 && !received.isIdempotent))
          fail(`message ${sum} is sent ${times} times under ${ids.size} ids`);
      for (const { amount, status } of payouts()) {
        const times = paidTo(Number(amount));
        if (times > 1) fail(`${amount} are paid out ${times} times`);
        if (times > 0 && status === 'failed') fail(`${amount} are paid out and given back`);
        if (times === 0 && status === 'sent') fail(`${amount} count as paid out and are not`);
      }
    },

    /** What is on its way. */
    pending: (): string[] => [
      ...transactions().flatMap(({ id, status }) =>
        status === 'included' || status === 'dead' ? [] : [`${id} (${status})`],
      ),
      ...messages().flatMap(({ id, status }) =>
        status === 'sent' || status === 'failed' ? [] : [`message ${id} (${status})`],
      ),
      ...payouts().flatMap(({ id, status }) => (status === 'sending' ? [`payout ${id}`] : [])),
      ...claims().flatMap(({ id, status }) =>
        ['paid', 'rejected', 'unclaimed', 'failed'].includes(status) ? [] : [`claim ${id} (${status})`],
      ),
      ...sessions().flatMap(({ id, status, seen_at }) =>
        status === sessionStatus.active && seen_at + timeoutMs + 60_000 < world.now() ? [`session ${id}`] : [],
      ),
    ],

    /** Once nothing goes wrong any more and nothing is on its way. */
    checkEnd(): void {
      checkBooks();
      for (const intent of intents) {
        const { effect, sum, isConfirmed } = intent;
        const times = countOf(intent);
        if (times > 1) fail(`${effect} ${sum} is there ${times} times`);
        if (isConfirmed && times === 0) fail(`${effect} ${sum} was confirmed and is not there`);
      }
      for (const row of messages()) {
        const { times = 0 } = received.messages.get(noteOf(row)) ?? {};
        if (row.status === 'sent' && times === 0) fail(`message ${row.id} counts as sent and is not`);
        if (row.status === 'failed' && row.fault === null) fail(`message ${row.id} has failed without a reason`);
      }
      const booked = new Map(balances().map(({ id, balance }) => [id, BigInt(balance)]));
      for (const claim of claims()) {
        const status = chain.claims.get(claim.id)?.status;
        const expected = { PAID: ['paid', 'unclaimed'], REJECTED: ['rejected'], submitted: [], none: ['failed'] }[
          status ?? 'none'
        ] as string[];
        if (!expected.includes(claim.status)) fail(`claim ${claim.id} is ${claim.status}, and ${status} on the chain`);
      }
      for (const { id, phone } of accounts()) {
        const earned = claims().filter((claim) => claim.phone === phone && claim.status === 'paid').length * reward;
        const spent = payouts().flatMap(({ account_id, status, amount }) =>
          account_id === id && status !== 'failed' ? [Number(amount)] : [],
        );
        const left = BigInt(earned - spent.reduce((sum, amount) => sum + amount, 0));
        const balance = booked.get(holderAccount(id, denom)) ?? 0n;
        if (balance !== left) fail(`${phone} has ${balance} and should have ${left}`);
      }
    },
  };
}
