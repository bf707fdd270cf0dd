import { nameOf, type ProgramSource } from '@palaver/program/internal';
import type { DatabaseClock, Store } from '@palaver/store';
import type { Transaction } from 'kysely';
import type { UssdTables } from '../store/tables.ts';

/** A version as it is kept: the program's files, and those of the program it extends. */
export interface KeptVersion {
  source: ProgramSource;
  base?: ProgramSource;
}

export interface Publication {
  at: number;
  by: string;
  /** The version that was in use before. */
  replaced: string | null;
  note?: string | undefined;
}

export interface ListedVersion {
  version: string;
  /** When it was last taken into use. */
  usedAt: string;
  publishedAt: string | null;
  publishedBy: string | null;
  note: string | null;
  /** The version that was in use when this one was published. */
  replaced: string | null;
}

const keptVersions = 20;
const maxListed = 200;
const keptMs = 30 * 24 * 3_600_000;

/** Versions of programs in the database: other instances and later starts continue sessions on them. */
export function createProgramVersions({ db }: Pick<Store<UssdTables>, 'db'>, clock: Pick<DatabaseClock, 'now'>) {
  return {
    async keep(id: string, version: KeptVersion) {
      const program = nameOf(id);
      const now = clock.now();
      await db
        .insertInto('ussd_program_version')
        .values({
          ...{ id, program, source: JSON.stringify(version), used_at: now },
          ...{ published_at: null, published_by: null, note: null, replaced: null },
        })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ used_at: now }))
        .execute();
      const newest = db
        .selectFrom('ussd_program_version')
        .select('id')
        .where('program', '=', program)
        .orderBy('used_at', 'desc')
        .limit(keptVersions);
      await db
        .deleteFrom('ussd_program_version')
        .where('program', '=', program)
        .where('used_at', '<', now - keptMs)
        .where('id', 'not in', newest)
        .where('id', 'not in', (inner) =>
          inner
            .selectFrom('ussd_program')
            .select('published')
            .where('published', 'is not', null)
            .$castTo<{ published: string }>(),
        )
        .execute();
    },
    async load(id: string) {
      const row = await db.selectFrom('ussd_program_version').select('source').where('id', '=', id).executeTakeFirst();
      return row && (JSON.parse(row.source) as KeptVersion);
    },
    /** The versions of a program, the newest first. */
    async list(program: string) {
      const rows = await db
        .selectFrom('ussd_program_version')
        .select(['id', 'used_at', 'published_at', 'published_by', 'note', 'replaced'])
        .where('program', '=', program)
        .orderBy('used_at', 'desc')
        .limit(maxListed)
        .execute();
      return rows.map(({ id, used_at, published_at, published_by, note, replaced }) => ({
        version: id,
        usedAt: new Date(used_at).toISOString(),
        publishedAt: published_at === null ? null : new Date(published_at).toISOString(),
        publishedBy: published_by,
        note,
        replaced,
      }));
    },
    async markPublished(trx: Transaction<UssdTables>, id: string, { at, by, replaced, note }: Publication) {
      await trx
        .updateTable('ussd_program_version')
        .set({ published_at: at, published_by: by, note: note ?? null, ...(replaced !== id && { replaced }) })
        .where('id', '=', id)
        .execute();
    },
  };
}

export type ProgramVersions = ReturnType<typeof createProgramVersions>;
