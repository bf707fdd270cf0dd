import { setImmediate as letOthersRun } from 'node:timers/promises';
import { AppError, agentLimits } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { type Capability, parseToken, type UcanView } from '@palaver/ucan';
import { findExpiration, type IssuedToken, type Standing } from '@palaver/ucan/internal';
import { type Kysely, sql, type Transaction } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Seal } from '../auth/seal.ts';
import type { AgentDatabase } from './schema.ts';

export interface StoredDelegation {
  token: string;
  cid: string;
  /** Unix seconds. */
  expiration: number;
  capabilities: readonly Capability[];
}

export interface ListedDelegation {
  cid: string;
  /** Unix seconds. */
  expiration: number;
  /** Undefined if the key that sealed them is gone. */
  capabilities: Capability[] | undefined;
}

export type RecordChange = (
  trx: Transaction<AgentDatabase>,
  details: { cid: string } | { count: number },
) => Promise<void>;

export type DelegationStore = ReturnType<typeof createDelegationStore>;

interface DelegationStoreOptions {
  agentDid: string;
  seal: Seal;
  referenceOf(userDid: string): string;
}

/** Tokens are taken for a while after their expiry, by the clock skew; so long their revocation counts too. */
const slackMs = 60_000;
/** How long a revoked token that was never posted is refused: nobody here knows its expiry. */
const unseenMs = 365 * 86_400_000;
/** A parsed token takes 11 to 13 times its length. */
const bytesPerCharacter = 16;
const parsedBytes = 32 * 1024 * 1024;
/** Each is parsed at the beginning of a turn. */
const usedAtOnce = 100;

/** Users' delegations to this agent, sealed, and which of them no longer sign in. */
export function createDelegationStore(
  store: Store<AgentDatabase>,
  { agentDid, seal, referenceOf }: DelegationStoreOptions,
) {
  const { prepare } = store;
  /** The CID of the one posted last, of those that are not revoked. */
  const latestOf = (userDid: string) => sql<string>`(select latest.cid from agent_delegation as latest
    where latest.user_did = ${userDid} and latest.agent_did = ${agentDid} and latest.stored_at is not null
      and latest.revoked = 0 order by latest.stored_at desc, latest.cid limit 1)`;
  const findStandings = prepare((query, token: { cid: string; issuer: string; reference: string }) =>
    query
      .selectFrom('agent_delegation')
      .select(sql<Standing>`case revoked when 1 then 'revoked' else 'shared' end`.as('standing'))
      .where('cid', '=', token.cid)
      // Anyone may name any CID; only the issuer's word counts.
      .where('user_did', 'in', [token.issuer, token.reference])
      .where((is) => is.or([is('revoked', '=', 1), is('sent_downstream', '=', 1)])),
  );
  const findSent = prepare((query, token: { cid: string }) =>
    query.selectFrom('agent_delegation').select('cid').where('cid', '=', token.cid).where('sent_downstream', '=', 1),
  );
  // A CID is the hash of what it names, so what was parsed once holds for everyone.
  const parsed = new LRUCache<string, UcanView>({ maxSize: parsedBytes });
  async function parse(cid: string, token: string | undefined): Promise<UcanView | undefined> {
    if (token === undefined) return undefined;
    await letOthersRun();
    const { ok: view } = await parseToken(token);
    if (view) parsed.set(cid, view, { size: token.length * bytesPerCharacter });
    return view;
  }
  const owner = (userDid: string) => `${userDid}\n${agentDid}`;

  /** Until the commit; SQLite has one writer anyway. */
  async function takeTurn(trx: Kysely<AgentDatabase>, userDid: string): Promise<void> {
    if (store.engine === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtextextended(${`agent delegation ${userDid}`}, 0))`.execute(trx);
  }

  async function recordToken(trx: Kysely<AgentDatabase>, row: KnownDelegation): Promise<void> {
    const names = [row.user_did, referenceOf(row.user_did)];
    // So that those recorded at once are counted one after the other.
    await takeTurn(trx, row.user_did);
    const before = Date.now() - slackMs;
    await trx.deleteFrom('agent_delegation').where('user_did', 'in', names).where('expires_at', '<', before).execute();
    await trx
      .insertInto('agent_delegation')
      .values({ agent_did: agentDid, stored_at: null, sent_downstream: 0, revoked: 0, sealed: null, ...row })
      .onConflict((conflict) => conflict.columns(['cid', 'user_did']).doUpdateSet({ ...row }))
      .execute();
    // After the insert, so that the transaction undoes the one too many.
    const { all, stored, unseen, bytes } = await trx
      .selectFrom('agent_delegation')
      .select([
        sql<number>`count(*)`.as('all'),
        sql<number>`count(case when stored_at is not null and revoked = 0 then 1 end)`.as('stored'),
        sql<number>`count(case when stored_at is null and sent_downstream = 0 then 1 end)`.as('unseen'),
        sql<number>`sum(octet_length(sealed))`.as('bytes'),
      ])
      .where('user_did', 'in', names)
      .executeTakeFirstOrThrow();
    const refuse = (what: string) => {
      throw new AppError('LIMIT_REACHED', what);
    };
    if (row.revoked) {
      if (Number(unseen) > agentLimits.delegations)
        refuse(
          'You have revoked too many delegations that were never stored here. Store the delegation, then revoke it.',
        );
      return;
    }
    const remedy = 'Revoke one, or wait until one expires.';
    if (Number(stored) > agentLimits.delegations)
      refuse(`You have ${agentLimits.delegations} delegations here that have not expired. ${remedy}`);
    if (Number(all) > agentLimits.delegationRecords)
      refuse('You have had too many delegations here. Wait until one expires.');
    if (row.sealed && Number(bytes) > agentLimits.delegationBytes)
      refuse(`Your delegations here are too long together. ${remedy}`);
  }

  /** The stored ones that are not revoked: the one posted last, even if it has expired, then those that expire last. */
  function selectStored(userDid: string, now: number) {
    const isLatest = sql<boolean>`cid = ${latestOf(userDid)}`;
    return store.db
      .selectFrom('agent_delegation')
      .select(['cid', 'expires_at'])
      .where((eb) => eb.and({ user_did: userDid, agent_did: agentDid }))
      .where('stored_at', 'is not', null)
      .where('revoked', '=', 0)
      .where(({ or, eb }) => or([eb('expires_at', '>', now), isLatest]))
      .orderBy(sql`case when ${isLatest} then 0 else 1 end`)
      .orderBy('expires_at', 'desc')
      .orderBy('cid');
  }

  return {
    /** Nothing if the one posted last has expired; otherwise that one first. */
    async list(userDid: string, beforeReading: (bytes: number) => Promise<void>): Promise<ListedDelegation[]> {
      const now = Date.now();
      const { bytes } = await store.db
        .selectFrom('agent_delegation')
        .select(sql<number | null>`sum(octet_length(capabilities))`.as('bytes'))
        .where('user_did', '=', userDid)
        .executeTakeFirstOrThrow();
      await beforeReading(Number(bytes));
      const rows = await selectStored(userDid, now).select('capabilities').limit(agentLimits.delegations).execute();
      if (rows.some(({ expires_at }) => expires_at <= now)) return [];
      return rows.map(({ cid, expires_at, capabilities }) => {
        const json = capabilities === null ? undefined : seal.open(capabilities, owner(userDid));
        return { cid, expiration: expires_at / 1000, capabilities: json === undefined ? undefined : JSON.parse(json) };
      });
    },

    /** The stored delegations that calls are made with, the one posted last first; `expired` is that one if it has expired. */
    async findUsable(userDid: string): Promise<{ usable: { token: string; view: UcanView }[]; expired?: UcanView }> {
      const now = Date.now();
      const usable: { token: string; view: UcanView }[] = [];
      let expired: UcanView | undefined;
      for (const { cid, expires_at, sealed } of await selectStored(userDid, now)
        .select('sealed')
        .limit(usedAtOnce)
        .execute()) {
        const token = sealed === null ? undefined : seal.open(sealed, owner(userDid));
        const view = parsed.get(cid) ?? (await parse(cid, token));
        if (expires_at <= now) expired = view;
        else if (token !== undefined && view) usable.push({ token, view });
      }
      return { usable, ...(expired && { expired }) };
    },

    /** Resolves once everything is committed that was being recorded for the user. */
    afterRecording: (userDid: string): Promise<void> => store.transaction((trx) => takeTurn(trx, userDid)),

    async put(userDid: string, { token, cid, expiration, capabilities }: StoredDelegation, record: RecordChange) {
      const row = {
        cid,
        user_did: userDid,
        expires_at: expiration * 1000,
        stored_at: Date.now(),
        sealed: seal.seal(token, owner(userDid)),
        capabilities: seal.seal(JSON.stringify(capabilities), owner(userDid)),
      };
      await store.transaction(async (trx) => {
        await recordToken(trx, row);
        await record(trx, { cid });
      });
    },

    /** Notes that a delegation leaves the service; false if that was known. */
    async markSent(view: UcanView): Promise<boolean> {
      const { cid, issuer } = view;
      if ((await findSent({ cid })).rows.length > 0) return false;
      const expires_at = findExpiration(view) * 1000;
      await store.transaction((trx) => recordToken(trx, { cid, user_did: issuer, expires_at, sent_downstream: 1 }));
      return true;
    },

    /** Refuses every stored delegation of a user from now on, replaced ones included; returns their CIDs. */
    async revokeAll(userDid: string, record: RecordChange): Promise<string[]> {
      return await store.transaction(async (trx) => {
        const rows = await trx
          .updateTable('agent_delegation')
          .set(revoked)
          .where((eb) => eb.and({ user_did: userDid, agent_did: agentDid }))
          .where('stored_at', 'is not', null)
          .where('revoked', '=', 0)
          .returning('cid')
          .execute();
        if (rows.length > 0) await record(trx, { count: rows.length });
        return rows.map(({ cid }) => cid);
      });
    },

    /** Refuses one delegation that the user issued from now on; throws if too many were revoked that were never seen here. */
    async revoke(userDid: string, cid: string, record: RecordChange): Promise<void> {
      await store.transaction(async (trx) => {
        const known = await trx
          .selectFrom('agent_delegation')
          .select('revoked')
          .where('cid', '=', cid)
          .where('user_did', 'in', [userDid, referenceOf(userDid)])
          .orderBy('revoked', 'desc')
          .executeTakeFirst();
        if (known?.revoked) return;
        const update = trx.updateTable('agent_delegation').set(revoked);
        if (known) await update.where((eb) => eb.and({ cid, user_did: userDid })).execute();
        else await recordToken(trx, { cid, user_did: userDid, expires_at: Date.now() + unseenMs, ...revoked });
        await record(trx, { cid });
      });
    },

    async findStanding(chain: readonly IssuedToken[]): Promise<Standing | undefined> {
      let standing: Standing | undefined;
      for (const [index, { cid, issuer }] of chain.entries()) {
        const { rows } = await findStandings({ cid, issuer, reference: referenceOf(issuer) });
        if (rows.some((row) => row.standing === 'revoked')) return 'revoked';
        // A proof may be shared with others: that is what it is for.
        if (index === 0 && rows.length > 0) standing = 'shared';
      }
      return standing;
    },
  };
}

const revoked = { revoked: 1, sealed: null, capabilities: null } as const;

type DelegationRow = AgentDatabase['agent_delegation'];
type KnownDelegation = Pick<DelegationRow, 'cid' | 'user_did' | 'expires_at'> & Partial<DelegationRow>;
