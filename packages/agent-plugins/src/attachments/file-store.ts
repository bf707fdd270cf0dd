import type { AgentPerson } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import type { UploadedFile } from '@palaver/contract/internal';
import { type PersonalData, personalTables, type SealedTable, type Store } from '@palaver/store';
import { unreadableText } from '@palaver/store/internal';
import { sql } from 'kysely';
import { toFirstSchema } from '../plugin-parts.ts';

interface FileTable {
  id: string;
  user_did: string;
  /** The session of the first message that names it, with which it goes; null until then. */
  session_id: string | null;
  filename: string;
  mimetype: string;
  size: number;
  /** What decrypts its bytes. Without the row they cannot be read. */
  secret: string;
  created_at: number;
}

export interface FileDatabase {
  agent_file: FileTable;
  /** Every file whose bytes may be stored. Where `file_id` is null its row in `agent_file` is gone, and the sweep removes it. */
  agent_file_object: { id: string; file_id: string | null };
  /** Uploads of the last 24 hours, deleted files too: one row for the user (hashed once erased), one for the address's hash. */
  agent_file_upload: { file_id: string; owner: string; size: number; created_at: number };
}

export const fileMigrations = toFirstSchema([
  sql`create table agent_file (
    id text primary key, user_did text not null, session_id text references agent_session (id) on delete cascade,
    filename text not null, mimetype text not null, size bigint not null, secret text not null,
    created_at bigint not null)`,
  sql`create index agent_file_by_user on agent_file (user_did, created_at)`,
  sql`create index agent_file_by_session on agent_file (session_id)`,
  sql`create index agent_file_by_time on agent_file (created_at)`,
  sql`create table agent_file_object (
    id text primary key, file_id text references agent_file (id) on delete set null)`,
  sql`create index agent_file_object_by_file on agent_file_object (file_id)`,
  sql`create index agent_file_object_orphaned on agent_file_object (id) where file_id is null`,
  sql`create table agent_file_upload (
    file_id text not null, owner text not null, size bigint not null, created_at bigint not null,
    primary key (file_id, owner))`,
  sql`create index agent_file_upload_by_owner on agent_file_upload (owner, created_at)`,
  sql`create index agent_file_upload_by_time on agent_file_upload (created_at)`,
]);

const sealedFiles: SealedTable = { table: 'agent_file', key: ['id'], sealed: ['filename', 'secret'] };

/** The export has each file's name, type and size; `GET /files/:fileId` gives its bytes. */
const tables = personalTables<AgentPerson>([
  { table: 'agent_file', sealed: sealedFiles, omit: ['secret'], where: ({ did }) => sql`user_did = ${did}` },
  { table: 'agent_file_upload', where: ({ did }) => sql`owner = ${did}` },
]);

export const filesPersonalData: PersonalData<AgentPerson> = {
  ...tables,
  async erase(trx, person) {
    // Erasing must not begin a new day of limits.
    await sql`update agent_file_upload set owner = ${person.reference} where owner = ${person.did}`.execute(trx);
    await tables.erase(trx, person);
  },
};

interface FileLimits {
  filesPerDay: number;
  bytesPerDay: number;
  /** Anyone can make keys, so the client address counts as well as the user. */
  bytesPerClientPerDay: number;
}

export interface Uploader {
  userDid: string;
  /** The hash of the client address; undefined for an address that many users share. */
  client?: string | undefined;
}

export type StoredFile = UploadedFile & { secret: string };

const dayMs = 24 * 3_600_000;

export type FileStore = ReturnType<typeof createFileStore>;

export function createFileStore(
  { db, cipher, transaction }: Store<FileDatabase>,
  { limits, referenceOf }: { limits: FileLimits; referenceOf(userDid: string): string },
) {
  type Query = Pick<typeof db, 'selectFrom'>;

  async function usedBy(owners: string[], query: Query): Promise<{ files: number; bytes: number }> {
    const used = await query
      .selectFrom('agent_file_upload')
      .where('owner', 'in', owners)
      .where('created_at', '>', Date.now() - dayMs)
      .select((eb) => [eb.fn.countAll<number>().as('files'), eb.fn.sum<number | null>('size').as('bytes')])
      .executeTakeFirst();
    return { files: Number(used?.files ?? 0), bytes: Number(used?.bytes ?? 0) };
  }

  async function checkLimits({ userDid, client }: Uploader, size: number, query: Query = db): Promise<void> {
    const { filesPerDay, bytesPerDay, bytesPerClientPerDay } = limits;
    const own = await usedBy([userDid, referenceOf(userDid)], query);
    if (own.files >= filesPerDay)
      throw new AppError('LIMIT_REACHED', `You may upload ${filesPerDay} files in 24 hours.`);
    if (own.bytes + size > bytesPerDay)
      throw new AppError('LIMIT_REACHED', `You may upload ${bytesPerDay} bytes in 24 hours.`);
    if (client !== undefined && (await usedBy([client], query)).bytes + size > bytesPerClientPerDay)
      throw new AppError('LIMIT_REACHED', `Your address may upload ${bytesPerClientPerDay} bytes in 24 hours.`);
  }

  return {
    checkLimits: (uploader: Uploader, size: number) => checkLimits(uploader, size),

    add: (uploader: Uploader, { fileId: id, createdAt, ...file }: StoredFile) =>
      transaction(async (trx) => {
        await checkLimits(uploader, file.size, trx);
        const { userDid, client } = uploader;
        const created_at = Date.parse(createdAt);
        const row = { id, user_did: userDid, session_id: null, ...file, created_at };
        await trx.insertInto('agent_file').values(cipher.sealRow(sealedFiles, row)).execute();
        await trx.insertInto('agent_file_object').values({ id, file_id: id }).execute();
        const owners = client === undefined ? [userDid] : [userDid, client];
        const uploads = owners.map((owner) => ({ file_id: id, owner, size: file.size, created_at }));
        await trx.insertInto('agent_file_upload').values(uploads).execute();
      }),

    withdraw: (id: string) =>
      transaction(async (trx) => {
        await trx.deleteFrom('agent_file').where('id', '=', id).execute();
        await trx.deleteFrom('agent_file_upload').where('file_id', '=', id).execute();
      }),

    async find(userDid: string, id: string): Promise<StoredFile | undefined> {
      const own = db.selectFrom('agent_file').selectAll().where('user_did', '=', userDid);
      const row = await own.where('id', '=', id).executeTakeFirst();
      if (!row) return undefined;
      const opened = cipher.openRow(sealedFiles, row, { filename: unreadableText });
      const { filename, mimetype, secret, created_at } = opened;
      const createdAt = new Date(created_at).toISOString();
      return { fileId: id, filename, mimetype, size: Number(opened.size), secret, createdAt };
    },

    /** From now on the file goes with this session, unless it goes with another. */
    async claim(userDid: string, id: string, sessionId: string): Promise<void> {
      await db
        .updateTable('agent_file')
        .set({ session_id: sessionId })
        .where((eb) => eb.and({ user_did: userDid, id }))
        .where('session_id', 'is', null)
        .execute();
    },

    async remove(userDid: string, id: string): Promise<boolean> {
      const own = db.deleteFrom('agent_file').where('user_did', '=', userDid);
      const { numDeletedRows } = await own.where('id', '=', id).executeTakeFirst();
      return numDeletedRows > 0n;
    },

    async removeExpired({ retentionDays }: { retentionDays: number }, now = Date.now()): Promise<void> {
      await db
        .deleteFrom('agent_file_upload')
        .where('created_at', '<', now - dayMs)
        .execute();
      const removal = db.deleteFrom('agent_file').where('session_id', 'is', null);
      await removal.where('created_at', '<', now - dayMs).execute();
      if (retentionDays > 0)
        await db
          .deleteFrom('agent_file')
          .where('created_at', '<', now - retentionDays * dayMs)
          .execute();
    },

    async orphans(limit: number): Promise<string[]> {
      const query = db.selectFrom('agent_file_object as object').where('object.file_id', 'is', null);
      const rows = await query.select('object.id').limit(limit).execute();
      return rows.map(({ id }) => id);
    },

    async forget(id: string): Promise<void> {
      await db.deleteFrom('agent_file_object').where('id', '=', id).execute();
    },
  };
}
