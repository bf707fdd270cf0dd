import type { DatabaseClock, Store } from '@palaver/store';
import { nameOf } from '../menu/menu.ts';
import type { ProgramSource } from '../menu/program-source.ts';
import type { UssdTables } from '../store/tables.ts';

/** A version as it is kept: the program's files, and those of the program it extends. */
export interface KeptVersion {
  source: ProgramSource;
  base?: ProgramSource;
}

/** Versions of programs in the database: other instances and later starts continue sessions on them. */
export interface ProgramVersions {
  keep(id: string, version: KeptVersion): Promise<void>;
  load(id: string): Promise<KeptVersion | undefined>;
}

const keptVersions = 20;
const keptMs = 30 * 24 * 3_600_000;

export function createProgramVersions(
  { db }: Pick<Store<UssdTables>, 'db'>,
  clock: Pick<DatabaseClock, 'now'>,
): ProgramVersions {
  return {
    async keep(id, version) {
      const program = nameOf(id);
      const now = clock.now();
      await db
        .insertInto('ussd_program_version')
        .values({ id, program, source: JSON.stringify(version), used_at: now })
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
        .execute();
    },
    async load(id) {
      const row = await db.selectFrom('ussd_program_version').select('source').where('id', '=', id).executeTakeFirst();
      return row && (JSON.parse(row.source) as KeptVersion);
    },
  };
}
