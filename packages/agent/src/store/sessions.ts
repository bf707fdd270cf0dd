import { createHash } from 'node:crypto';
import { AppError, agentLimits, type Session } from '@palaver/contract';
import {
  type CreateSession,
  defaultSessionTitle,
  type OffsetPageQuery,
  type SessionList,
  uuidPattern,
} from '@palaver/contract/internal';
import type { Store } from '@palaver/store';
import { databaseTime, unreadableText } from '@palaver/store/internal';
import { type Kysely, type QueryExecutorProvider, type Selectable, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { type ForkPoint, type Past, readPast } from './read-past.ts';
import { type AgentDatabase, sealedTables } from './schema.ts';

/** The agent of this process, as sessions name it. */
export interface OracleIdentity {
  name: string;
  /** The DID that users see: its entity on the protocol, else its key's. */
  did: string;
  /** `ORACLE_DID`. */
  keyDid: string;
  /** The did:key of the key it signs with. */
  signingDid: string;
}

/** The sessions of users. */
export type SessionStore = ReturnType<typeof createSessionStore>;

export type OwnSession = Session & { isNamed: boolean };

export function toRoomId(userDid: string, agentDid: string): string {
  return `!${createHash('sha256').update(`${userDid}\n${agentDid}`).digest('base64url').slice(0, 32)}`;
}

/**
 * For a transaction that stores what a turn learned: an erasure meanwhile removes it too; after one, nothing is stored.
 *
 * @example
 * ```ts
 * import { holdSession, type RuntimeContext, type Store } from '@palaver/agent';
 *
 * type Herd = { herd_goat: { room_id: string; name: string } };
 * export const keepGoat = (store: Store<Herd>, { session }: RuntimeContext, name: string) =>
 *   store.transaction(async (trx) => {
 *     await holdSession(trx, session.id);
 *     await trx.insertInto('herd_goat').values({ room_id: session.roomId, name }).execute();
 *   });
 * ```
 */
export async function holdSession(trx: QueryExecutorProvider, id: string): Promise<void> {
  // Written, not only locked: an erasure that began before is then tried again, and finds what is stored here.
  const held = await sql`update agent_session set run_count = run_count where id = ${id} returning id`.execute(trx);
  if (held.rows.length === 0) throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
}

export function createSessionStore(
  { db, prepare, transaction, engine, cipher }: Store<AgentDatabase>,
  oracle: OracleIdentity,
  { perUser = agentLimits.sessionsPerUser as number } = {},
) {
  const now = databaseTime(engine);
  const findOwn = prepare((query, own: { id: string; userDid: string }) =>
    query.selectFrom('agent_session').selectAll().where('id', '=', own.id).where('user_did', '=', own.userDid),
  );

  type ShownRow = Pick<
    Selectable<AgentDatabase['agent_session']>,
    'id' | 'title' | 'room_id' | 'created_at' | 'updated_at'
  >;
  const toSession = (row: ShownRow): Session => ({
    sessionId: row.id,
    title: cipher.openRow(sealedTables.session, { id: row.id, title: row.title }, { title: unreadableText }).title,
    createdAt: new Date(row.created_at).toISOString(),
    lastUpdatedAt: new Date(row.updated_at).toISOString(),
    oracleName: oracle.name,
    oracleDid: oracle.did,
    roomId: row.room_id,
  });

  const toOwnId = (userDid: string, name: string) => toNamedId(`${userDid}\n${oracle.did}\n${name}`);

  async function checkRoom(trx: Kysely<AgentDatabase>, userDid: string, bytes: number): Promise<void> {
    // Until the commit, so that sessions created at once are counted one after the other; SQLite has one writer anyway.
    if (engine === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtextextended(${`agent session ${userDid}`}, 0))`.execute(trx);
    const { total, used } = await trx
      .selectFrom('agent_session')
      .where('user_did', '=', userDid)
      .select((eb) => [eb.fn.countAll<number>().as('total'), eb.fn.sum<number | null>('initial_bytes').as('used')])
      .executeTakeFirstOrThrow();
    if (Number(total) >= perUser)
      throw new AppError('LIMIT_REACHED', `You have ${perUser} sessions; delete some before you create another.`);
    if (Number(used ?? 0) + bytes > agentLimits.initialBytes)
      throw new AppError(
        'LIMIT_REACHED',
        'Your sessions brought too much with them; delete some before you create another.',
      );
  }

  async function create(
    userDid: string,
    { title, metadata }: CreateSession,
    { id = uuidv7(), past }: { id?: string; past?: Past } = {},
  ): Promise<Session> {
    const kept = metadata === undefined ? null : JSON.stringify(metadata);
    const row = cipher.sealRow(sealedTables.session, {
      id,
      user_did: userDid,
      title: title ?? defaultSessionTitle,
      named: title === undefined ? 0 : 1,
      room_id: toRoomId(userDid, oracle.did),
      metadata: kept,
    });
    const metadataBytes = kept === null ? 0 : Buffer.byteLength(kept);
    if (metadataBytes > agentLimits.metadataBytes)
      throw new AppError('PAYLOAD_TOO_LARGE', `The metadata is larger than ${agentLimits.metadataBytes} bytes.`);
    const initial_bytes = metadataBytes + (past?.bytes ?? 0);
    const insert = async (trx: Kysely<AgentDatabase>) => {
      await checkRoom(trx, userDid, initial_bytes);
      const created = await trx
        // Read once: PostgreSQL's clock advances within a statement.
        .with('clock', (query) => query.selectNoFrom(now.as('ms')))
        .insertInto('agent_session')
        .values((eb) => {
          const ms = eb.selectFrom('clock').select('ms');
          return { ...row, initial_bytes, created_at: ms, updated_at: ms };
        })
        // Another request with the same name may have been faster.
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ id }))
        .returning(['created_at', 'updated_at'])
        .executeTakeFirstOrThrow();
      await past?.add(trx);
      return created;
    };
    const stored = await transaction(insert, { isolation: 'read committed' });
    return toSession({ ...row, ...stored });
  }

  return {
    create: (userDid: string, session: CreateSession) => create(userDid, session),

    /** A new session that begins with the messages of another one of the user up to `messageId`, that one included. */
    async fork(userDid: string, { sessionId, title, isNamed }: OwnSession, from: Omit<ForkPoint, 'sessionId'>) {
      const id = uuidv7();
      const { bytes, add } = await readPast({ db, cipher }, { ...from, sessionId }, id);
      const metadata = await this.metadataOf(userDid, sessionId);
      const hold: Past['add'] = (trx) => holdSession(trx, sessionId).then(() => add(trx));
      return create(userDid, { metadata, ...(isNamed && { title }) }, { id, past: { bytes, add: hold } });
    },

    async find(userDid: string, id: string): Promise<OwnSession | undefined> {
      if (!uuidPattern.test(id)) return undefined;
      const [row] = (await findOwn({ id, userDid })).rows;
      return row && { ...toSession(row), isNamed: row.named === 1 };
    },

    /** What the session was created with; nothing where it was created without, or cannot be decrypted. */
    async metadataOf(userDid: string, id: string): Promise<Record<string, unknown>> {
      if (!uuidPattern.test(id)) return {};
      const [row] = (await findOwn({ id, userDid })).rows;
      const { metadata = null } = row ? cipher.openRow(sealedTables.session, row, { title: '', metadata: null }) : {};
      return metadata === null ? {} : JSON.parse(metadata);
    },

    /** The session with this id, or the one that stands for a name which a client of another protocol chose. */
    async findNamed(userDid: string, name: string): Promise<Session | undefined> {
      return (await this.find(userDid, name)) ?? (await this.find(userDid, toOwnId(userDid, name)));
    },

    /** Likewise; the same name of the same user is always the same session. */
    async findOrCreate(userDid: string, name: string): Promise<Session> {
      return (
        (await this.findNamed(userDid, name)) ??
        (await create(userDid, { metadata: { name } }, { id: toOwnId(userDid, name) }))
      );
    },

    /** The name by which a client of another protocol created a session; its id where it has none. */
    async nameOf(userDid: string, id: string): Promise<string> {
      const { name } = await this.metadataOf(userDid, id);
      return typeof name === 'string' && toOwnId(userDid, name) === id ? name : id;
    },

    /** Takes back a session that was created for a message which was then refused; one with a run stays. */
    async removeUnused(userDid: string, id: string): Promise<void> {
      await db
        .deleteFrom('agent_session')
        .where((eb) => eb.and({ id, user_did: userDid, run_count: 0 }))
        .execute();
    },

    async list(userDid: string, { limit, offset }: OffsetPageQuery): Promise<SessionList> {
      const own = db.selectFrom('agent_session').where('user_did', '=', userDid);
      const { total } = await own.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
      const rows = await own
        .selectAll()
        .orderBy('updated_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .offset(offset)
        .execute();
      return { sessions: rows.map(toSession), total, limit, offset };
    },

    /** A title that the user chose is not replaced by one made from the first exchange. */
    async rename(userDid: string, id: string, title: string): Promise<void> {
      const { title: sealed } = cipher.sealRow(sealedTables.session, { id, title });
      const changed = db.updateTable('agent_session').set({ title: sealed, named: 1 });
      await changed.where((eb) => eb.and({ id, user_did: userDid })).execute();
    },

    async remove(userDid: string, id: string): Promise<boolean> {
      if (!uuidPattern.test(id)) return false;
      // In a transaction, because that is tried again after a deadlock with a run that is ending.
      const result = await transaction((trx) =>
        trx.deleteFrom('agent_session').where('id', '=', id).where('user_did', '=', userDid).executeTakeFirst(),
      );
      return result.numDeletedRows > 0n;
    },
  };
}

/** A UUID that follows from a name, in the form of version 7, which ids of sessions have. */
function toNamedId(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
