import { setImmediate as letOthersRun } from 'node:timers/promises';
import { AppError, agentLimits } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { parseToken, type UcanView } from '@palaver/ucan';
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
}

export interface ListedDelegation extends Omit<StoredDelegation, 'token'> {
  /** Undefined if the key that sealed it is gone. */
  view: UcanView | undefined;
}

interface OpenedDelegation extends ListedDelegation {
  /** The token, unless the key that sealed it is gone. */
  read(): string | undefined;
  isExpired: boolean;
}

/** Writes what is recorded of a change, in its transaction. */
export type RecordChange = (trx: Transaction<AgentDatabase>, cid: string) => Promise<void>;

export type DelegationStore = ReturnType<typeof createDelegationStore>;

interface DelegationStoreOptions {
  agentDid: string;
  seal: Seal;
  /** What revocations of an erased user are known by. */
  referenceOf(userDid: string): string;
}

/** Tokens are taken for a while after their expiry, by the clock skew; so long their revocation counts too. */
const slackMs = 60_000;
/** A revoked token that was never posted has an expiry nobody here knows. */
const neverMs = Number.MAX_SAFE_INTEGER;
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
  const findRow = prepare((query, own: { userDid: string; now: number }) =>
    query
      .selectFrom('agent_delegation')
      .select(['cid', 'expires_at', 'sealed'])
      .where('cid', '=', latestOf(own.userDid))
      .where('user_did', '=', own.userDid)
      .where('expires_at', '>', own.now),
  );
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
    // Others are served between two tokens: one takes milliseconds.
    await letOthersRun();
    const { ok: view } = await parseToken(token);
    if (view) parsed.set(cid, view, { size: token.length * bytesPerCharacter });
    return view;
  }
  const owner = (userDid: string) => `${userDid}\n${agentDid}`;

  /** Records a delegation by its CID; throws if the user has too many. */
  async function recordToken(trx: Kysely<AgentDatabase>, row: KnownDelegation): Promise<void> {
    const names = [row.user_did, referenceOf(row.user_did)];
    await removeExpired(trx, names);
    await trx
      .insertInto('agent_delegation')
      .values({ agent_did: agentDid, stored_at: null, sent_downstream: 0, revoked: 0, sealed: null, ...row })
      .onConflict((conflict) => conflict.columns(['cid', 'user_did']).doUpdateSet({ ...row }))
      .execute();
    // After the insert, so that the transaction undoes the one too many.
    const { count, bytes } = await trx
      .selectFrom('agent_delegation')
      .select((of) => [of.fn.countAll<number>().as('count'), sql<number>`sum(octet_length(sealed))`.as('bytes')])
      .where('user_did', 'in', names)
      .executeTakeFirstOrThrow();
    const remedy = 'Revoke one, or wait until one expires.';
    if (Number(count) > agentLimits.delegations)
      throw new AppError(
        'LIMIT_REACHED',
        `You have ${agentLimits.delegations} delegations here that have not expired. ${remedy}`,
      );
    if (row.sealed && Number(bytes) > agentLimits.delegationBytes)
      throw new AppError('LIMIT_REACHED', `Your delegations here are too long together. ${remedy}`);
  }

  /** The stored ones that are not revoked: the one posted last, even if it has expired, then those that expire last. */
  async function open(userDid: string, limit: number): Promise<OpenedDelegation[]> {
    const now = Date.now();
    const isLatest = sql<boolean>`cid = ${latestOf(userDid)}`;
    const rows = await store.db
      .selectFrom('agent_delegation')
      .select(['cid', 'expires_at', 'sealed'])
      .where('user_did', '=', userDid)
      .where('agent_did', '=', agentDid)
      .where('stored_at', 'is not', null)
      .where('revoked', '=', 0)
      .where(({ or, eb }) => or([eb('expires_at', '>', now), isLatest]))
      .orderBy(sql`case when ${isLatest} then 0 else 1 end`)
      .orderBy('expires_at', 'desc')
      .orderBy('cid')
      .limit(limit)
      .execute();
    const opened: OpenedDelegation[] = [];
    for (const { cid, expires_at, sealed } of rows) {
      const read = () => (sealed === null ? undefined : seal.open(sealed, owner(userDid)));
      const view = sealed === null ? undefined : (parsed.get(cid) ?? (await parse(cid, read())));
      opened.push({ cid, expiration: expires_at / 1000, read, view, isExpired: expires_at <= now });
    }
    return opened;
  }

  return {
    async list(userDid: string): Promise<ListedDelegation[]> {
      const opened = await open(userDid, agentLimits.delegations);
      return opened.flatMap(({ read: _, isExpired, ...listed }) => (isExpired ? [] : [listed]));
    },

    /** The stored delegations that calls are made with, the one posted last first; `expired` is that one if it has expired. */
    async findUsable(userDid: string): Promise<{ usable: { token: string; view: UcanView }[]; expired?: UcanView }> {
      const opened = await open(userDid, usedAtOnce);
      const expired = opened.find(({ isExpired }) => isExpired)?.view;
      const usable = opened.flatMap(({ read, view, isExpired }) => {
        const token = view && !isExpired ? read() : undefined;
        return token !== undefined && view ? [{ token, view }] : [];
      });
      return { usable, ...(expired && { expired }) };
    },

    async put(userDid: string, { token, cid, expiration }: StoredDelegation, record: RecordChange): Promise<void> {
      const sealed = seal.seal(token, owner(userDid));
      const row = { cid, user_did: userDid, expires_at: expiration * 1000, stored_at: Date.now(), sealed };
      await store.transaction(async (trx) => {
        await recordToken(trx, row);
        await record(trx, cid);
      });
    },

    /** The delegation in force; one that has expired counts as none. */
    async find(userDid: string): Promise<StoredDelegation | undefined> {
      const [row] = (await findRow({ userDid, now: Date.now() })).rows;
      const token = row?.sealed ? seal.open(row.sealed, owner(userDid)) : undefined;
      return row && token ? { token, cid: row.cid, expiration: row.expires_at / 1000 } : undefined;
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
          .set({ revoked: 1, sealed: null })
          .where('user_did', '=', userDid)
          .where('agent_did', '=', agentDid)
          .where('stored_at', 'is not', null)
          .returning('cid')
          .execute();
        await removeExpired(trx, [userDid]);
        for (const { cid } of rows) await record(trx, cid);
        return rows.map(({ cid }) => cid);
      });
    },

    /** Refuses one delegation that the user issued from now on, whether it was ever seen here or not. */
    async revoke(userDid: string, cid: string, record: RecordChange): Promise<void> {
      await store.transaction(async (trx) => {
        const known = await trx
          .selectFrom('agent_delegation')
          .select('expires_at')
          .where('cid', '=', cid)
          .where('user_did', '=', userDid)
          .executeTakeFirst();
        await recordToken(trx, {
          cid,
          user_did: userDid,
          expires_at: known?.expires_at ?? neverMs,
          revoked: 1,
          sealed: null,
        });
        await record(trx, cid);
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

interface KnownDelegation {
  cid: string;
  user_did: string;
  expires_at: number;
  stored_at?: number;
  sent_downstream?: 1;
  revoked?: 1;
  sealed?: string | null;
}

async function removeExpired(trx: Kysely<AgentDatabase>, names: string[]): Promise<void> {
  const before = Date.now() - slackMs;
  await trx.deleteFrom('agent_delegation').where('user_did', 'in', names).where('expires_at', '<', before).execute();
}
