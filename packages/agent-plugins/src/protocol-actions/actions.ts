import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentPerson, Seal } from '@palaver/agent';
import type { GatewayClient, OutboxRow, SigningAccount, TxOutbox } from '@palaver/protocol';
import { type Coin, envCoin } from '@palaver/protocol/internal';
import { StartError } from '@palaver/service-kit';
import { type PersonalData, personalTables, type SealedTable, type Store } from '@palaver/store';
import { sql, type Transaction } from 'kysely';
import { toFirstSchema } from '../plugin-parts.ts';

type Message = Parameters<SigningAccount['sign']>[0]['messages'][number];

export interface NewAction {
  id: string;
  userDid: string;
  client?: string | undefined;
  details: Record<string, string>;
  invocation: { serialized: string; cid: string };
  message: Message;
  coins?: { amount: bigint; perDay: bigint };
}

export type OrderResult = 'ordered' | 'too much' | `too many of ${keyof OrderLimits}`;

/** Orders in 24 hours, also those that the chain refuses: the agent pays their fees, and others wait for them. */
export interface OrderLimits {
  user: number;
  /** Anyone can make as many users as they like. */
  address: number;
  agent: number;
}

type Actions = ReturnType<typeof createActions>;

export interface ActionParts {
  actions: Actions;
  outbox: TxOutbox<ActionsDatabase>;
  gateway: GatewayClient;
  address: string;
  limits: SendLimits | undefined;
}

const entryPrefix = 'action:';
const everyone = '*';
/** How long a tool waits for the block; then the transaction is on its way. */
const waitMs = 20_000;
const lookMs = 250;

interface CreateActionsParts {
  store: Store<ActionsDatabase>;
  outbox: TxOutbox<ActionsDatabase>;
  referenceOf(did: string): string;
  /** Invocations hold a delegation of the user, so they are always encrypted. */
  seal: Pick<Seal, 'seal'>;
  hashClient(client: string): string;
  perDay: OrderLimits;
  work(): Promise<void>;
}

export function createActions({ store, outbox, referenceOf, seal, hashClient, perDay, work }: CreateActionsParts) {
  const { db, cipher } = store;

  const find = (id: string, reader: Pick<typeof db, 'selectFrom'> = db) =>
    reader.selectFrom('agent_action').selectAll().where('id', '=', id).executeTakeFirst();

  return {
    find,

    order: ({ id, userDid, client: address, details, invocation, message, coins }: NewAction): Promise<OrderResult> =>
      store.transaction(async (trx) => {
        if (await find(id, trx)) return 'ordered';
        const now = Date.now();
        const client = address === undefined ? null : hashClient(address);
        const { counts, sum } = await readDay(trx, { userDid, reference: referenceOf(userDid), client }, now - dayMs);
        for (const whose of ['user', 'address', 'agent'] as const)
          if (counts[whose] >= perDay[whose]) return `too many of ${whose}` as const;
        if (coins && sum + coins.amount > coins.perDay) return 'too much';
        const row: ActionTable = {
          id,
          user_did: userDid,
          kind: coins ? 'send' : 'claim',
          status: 'sending',
          details: JSON.stringify(details),
          amount: coins ? String(coins.amount) : null,
          invocation: seal.seal(invocation.serialized, id),
          hash: null,
          fault: null,
          created_at: now,
          client,
        };
        await trx.insertInto('agent_action').values(cipher.sealRow(sealedActions, row)).execute();
        await outbox.add(trx, { id: `${entryPrefix}${id}`, message, memo: invocation.cid }, now);
        return 'ordered';
      }),

    /** The order once it is in a block or finally refused, or its state after a while. */
    async wait(id: string, signal: AbortSignal): Promise<ActionTable> {
      const until = Date.now() + waitMs;
      for (;;) {
        await work();
        const row = await find(id);
        if (!row) throw new Error(`there is no order ${id}`);
        if (row.status !== 'sending' || Date.now() > until) return withFault(row);
        await sleep(lookMs, undefined, { signal });
      }
    },

    /** By the outbox: the order of a user who was erased meanwhile is no longer listed. */
    async isIdle(): Promise<boolean> {
      for (const status of ['waiting', 'signed', 'unclear'] as const)
        if ((await outbox.list(status, 1)).length > 0) return false;
      return true;
    },

    async list(userDid: string, limit: number): Promise<ActionTable[]> {
      const query = db.selectFrom('agent_action').selectAll().where('user_did', '=', userDid);
      const rows = await query.orderBy('created_at', 'desc').orderBy('id').limit(limit).execute();
      return rows.map((row) => cipher.openRow(sealedActions, row, { details: '{}' }));
    },
  };

  /** What the chain said to an attempt that will be repeated. */
  async function withFault(row: ActionTable): Promise<ActionTable> {
    if (row.status !== 'sending') return row;
    const { rows } = await sql<{ fault: string | null }>`
      select fault from agent_tx where id = ${entryPrefix + row.id}`.execute(db);
    return { ...row, fault: rows[0]?.fault ?? null };
  }
}

type Trx = Transaction<ActionsDatabase>;
type Orderer = { userDid: string; reference: string; client: string | null };

/** What was ordered since a time, and what a user, also one who was erased, has sent. The row stays locked until the commit. */
async function readDay(trx: Trx, { userDid, reference, client }: Orderer, since: number) {
  const insertion = trx.insertInto('agent_action_sender').values({ user_did: everyone });
  await insertion.onConflict((conflict) => conflict.column('user_did').doUpdateSet({ user_did: everyone })).execute();
  await trx.deleteFrom('agent_action').where('user_did', '=', reference).where('created_at', '<=', since).execute();
  const ofDay = trx.selectFrom('agent_action').where('created_at', '>', since);
  const own = await ofDay.select(['amount', 'status']).where('user_did', 'in', [userDid, reference]).execute();
  const sent = own.filter(({ status }) => status !== 'failed');
  const { agent, address } = await ofDay
    .select((eb) => [eb.fn.countAll<number>().as('agent')])
    .select(sql<number | null>`sum(case when client = ${client} then 1 else 0 end)`.as('address'))
    .executeTakeFirstOrThrow();
  return {
    counts: { user: own.length, address: Number(address ?? 0), agent: Number(agent) },
    sum: sent.reduce((sum, { amount }) => sum + BigInt(amount ?? 0), 0n),
  };
}

export async function onActionSettled(trx: Trx, { id, hash, fault }: OutboxRow, outcome: 'included' | 'dead') {
  const change = outcome === 'included' ? { status: 'included' as const, hash } : { status: 'failed' as const, fault };
  await trx.updateTable('agent_action').set(change).where('id', '=', id.slice(entryPrefix.length)).execute();
}

const dayMs = 24 * 3_600_000;

export interface ActionTable {
  /** The run and its tool call: one row for each call. */
  id: string;
  /** A keyed hash of it once the user was erased. */
  user_did: string;
  kind: 'claim' | 'send';
  details: string;
  /** Of coins that are sent: in the smallest unit, as digits. */
  amount: string | null;
  /** The invocation with the user's delegation as its proof, sealed; its CID is the memo of the transaction. */
  invocation: string;
  status: 'sending' | 'included' | 'failed';
  hash: string | null;
  fault: string | null;
  created_at: number;
  client: string | null;
}

export interface ActionsDatabase {
  agent_action: ActionTable;
  /** Locked while the day is read. */
  agent_action_sender: { user_did: string };
}

const sealedActions: SealedTable = { table: 'agent_action', key: ['id'], sealed: ['details'] };

export const actionsMigrations = toFirstSchema(
  [
    sql`create table agent_action (
    id text primary key, user_did text not null, kind text not null, details text not null, amount text,
    invocation text not null, status text not null, hash text, fault text, created_at bigint not null, client text)`,
    sql`create index agent_action_by_user on agent_action (user_did, created_at)`,
    sql`create index agent_action_sending on agent_action (created_at) where status = 'sending'`,
    sql`create index agent_action_by_status on agent_action (status, created_at)`,
    sql`create index agent_action_by_time on agent_action (created_at, client)`,
    sql`create table agent_action_sender (user_did text primary key)`,
  ],
  'agent',
);

/** Nothing uses an order again once it is settled: the run that it belongs to has ended. */
export const actionsRetention = [
  { table: 'agent_action', time: 'created_at', statuses: ['included', 'failed'] },
  { table: 'agent_tx', time: 'created_at', statuses: ['included', 'dead'] },
];

const where = ({ did }: AgentPerson) => sql<boolean>`user_did = ${did}`;

/** A transaction that is on its way stays: without it, its outcome could not be looked up. */
const whereSettled = ({ did, reference }: AgentPerson) => sql<boolean>`status in ('included', 'dead')
  and id in (select 'action:' || id from agent_action where user_did in (${did}, ${reference}))`;

const tables = personalTables<AgentPerson>([
  { table: 'agent_tx', where: whereSettled },
  { table: 'agent_action', sealed: sealedActions, omit: ['invocation'], where },
  { table: 'agent_action_sender', where },
]);

export const actionsPersonalData: PersonalData<AgentPerson> = {
  ...tables,
  async erase(trx, person) {
    // The amounts of the last 24 hours stay under a keyed hash: erasing must not begin a new day of limits.
    await sql`update agent_action set user_did = ${person.reference}, details = '{}', invocation = ''
      where user_did = ${person.did} and created_at > ${Date.now() - dayMs}`.execute(trx);
    await tables.erase(trx, person);
  },
};

/** What users may have sent in their names, in the smallest unit. */
export type SendLimits = NonNullable<ReturnType<typeof toSendLimits>>;

export function envSendLimit(when: string) {
  return envCoin('1000000uixo')
    .optional()
    .meta({
      description: `The most that the agent sends for a user in ${when}. Without SEND_LIMIT_PER_CALL and SEND_LIMIT_PER_DAY it sends nothing.`,
      example: '1000000uixo',
    });
}

export function toSendLimits(perCall: Coin | undefined, perDay: Coin | undefined) {
  if (perCall === undefined && perDay === undefined) return undefined;
  if (!perCall || !perDay || perCall.denom !== perDay.denom)
    throw new StartError('SEND_LIMIT_PER_CALL and SEND_LIMIT_PER_DAY: set both, in the same coin');
  return { denom: perCall.denom, perCall: perCall.amount, perDay: perDay.amount };
}
