import { AppError, type UploadedFile } from '@palaver/contract';
import { type Migration, personalTables, type SealedTable, type Store, unreadableText } from '@palaver/store';
import { sql } from 'kysely';
import type { AgentPerson } from '../../../store/personal-data.ts';

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
  /** Every file whose bytes may be stored. What has no row in `agent_file` any more is removed by the sweep. */
  agent_file_object: { id: string };
}

export const fileMigrations: Migration[] = [
  {
    name: '001-files',
    async up(db) {
      await db.schema
        .createTable('agent_file')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('user_did', 'text', (column) => column.notNull())
        .addColumn('session_id', 'text', (column) => column.references('agent_session.id').onDelete('cascade'))
        .addColumn('filename', 'text', (column) => column.notNull())
        .addColumn('mimetype', 'text', (column) => column.notNull())
        .addColumn('size', 'bigint', (column) => column.notNull())
        .addColumn('secret', 'text', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema.createIndex('agent_file_by_user').on('agent_file').columns(['user_did', 'created_at']).execute();
      await db.schema.createIndex('agent_file_by_session').on('agent_file').column('session_id').execute();
      await db.schema.createIndex('agent_file_by_time').on('agent_file').column('created_at').execute();
      await db.schema
        .createTable('agent_file_object')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .execute();
    },
  },
];

const sealedFiles: SealedTable = { table: 'agent_file', key: ['id'], sealed: ['filename', 'secret'] };

/** The export has each file's name, type and size; `GET /files/:fileId` gives its bytes. */
export const filesPersonalData = personalTables<AgentPerson>([
  { table: 'agent_file', sealed: sealedFiles, omit: ['secret'], where: ({ did }) => sql`user_did = ${did}` },
]);

export interface FileLimits {
  filesPerDay: number;
  bytesPerDay: number;
}

export interface FileRules {
  /** Days that files are kept; 0 keeps them as long as their session. */
  retentionDays: number;
}

export type StoredFile = UploadedFile & { secret: string };

const dayMs = 24 * 3_600_000;
const orphansAtOnce = 100;

export type FileStore = ReturnType<typeof createFileStore>;

/** What is known of uploaded files; their bytes are elsewhere. */
export function createFileStore({ db, cipher, transaction }: Store<FileDatabase>, limits: FileLimits) {
  async function checkLimits(userDid: string, size: number, query: Pick<typeof db, 'selectFrom'> = db): Promise<void> {
    const used = await query
      .selectFrom('agent_file')
      .where('user_did', '=', userDid)
      .where('created_at', '>', Date.now() - dayMs)
      .select((eb) => [eb.fn.countAll<number>().as('files'), eb.fn.sum<number | null>('size').as('bytes')])
      .executeTakeFirst();
    if (Number(used?.files ?? 0) >= limits.filesPerDay)
      throw new AppError('LIMIT_REACHED', `You may upload ${limits.filesPerDay} files in 24 hours.`);
    if (Number(used?.bytes ?? 0) + size > limits.bytesPerDay)
      throw new AppError('LIMIT_REACHED', `You may upload ${limits.bytesPerDay} bytes in 24 hours.`);
  }

  return {
    /** Throws where a file of this size would be too much for its user. */
    checkLimits: (userDid: string, size: number) => checkLimits(userDid, size),

    add: (userDid: string, { fileId: id, createdAt, ...file }: StoredFile) =>
      transaction(async (trx) => {
        await checkLimits(userDid, file.size, trx);
        await trx.insertInto('agent_file_object').values({ id }).execute();
        const row = { id, user_did: userDid, session_id: null, ...file, created_at: Date.parse(createdAt) };
        await trx.insertInto('agent_file').values(cipher.sealRow(sealedFiles, row)).execute();
      }),

    async find(userDid: string, id: string): Promise<StoredFile | undefined> {
      const own = db.selectFrom('agent_file').selectAll().where('user_did', '=', userDid);
      const row = await own.where('id', '=', id).executeTakeFirst();
      if (!row) return undefined;
      const { filename, mimetype, size, secret, created_at } = cipher.openRow(sealedFiles, row, {
        filename: unreadableText,
      });
      return {
        fileId: id,
        filename,
        mimetype,
        size: Number(size),
        secret,
        createdAt: new Date(created_at).toISOString(),
      };
    },

    /** From now on the file goes with this session, unless it goes with another. */
    async claim(userDid: string, id: string, sessionId: string): Promise<void> {
      await db
        .updateTable('agent_file')
        .set({ session_id: sessionId })
        .where('user_did', '=', userDid)
        .where('id', '=', id)
        .where('session_id', 'is', null)
        .execute();
    },

    async remove(userDid: string, id: string): Promise<boolean> {
      const own = db.deleteFrom('agent_file').where('user_did', '=', userDid);
      const { numDeletedRows } = await own.where('id', '=', id).executeTakeFirst();
      return numDeletedRows > 0n;
    },

    /** Removes what was uploaded and not sent within a day, and what is past its time. */
    async removeExpired({ retentionDays }: FileRules, now = Date.now()): Promise<void> {
      await db
        .deleteFrom('agent_file')
        .where('session_id', 'is', null)
        .where('created_at', '<', now - dayMs)
        .execute();
      if (retentionDays > 0)
        await db
          .deleteFrom('agent_file')
          .where('created_at', '<', now - retentionDays * dayMs)
          .execute();
    },

    /** Files whose bytes nobody can read any more. */
    async orphans(): Promise<string[]> {
      const rows = await db
        .selectFrom('agent_file_object as object')
        .leftJoin('agent_file as file', 'file.id', 'object.id')
        .where('file.id', 'is', null)
        .select('object.id')
        .limit(orphansAtOnce)
        .execute();
      return rows.map(({ id }) => id);
    },

    async forget(id: string): Promise<void> {
      await db.deleteFrom('agent_file_object').where('id', '=', id).execute();
    },
  };
}
