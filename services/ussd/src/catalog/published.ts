import { AppError } from '@palaver/contract';
import type { Store } from '@palaver/store';
import type { Transaction } from 'kysely';
import type { UssdTables } from '../store/tables.ts';
import type { ProgramFileMap } from './program-files.ts';
import type { KeptVersion } from './versions.ts';

export interface Draft {
  files: ProgramFileMap;
  /** Counts saves: one that does not follow the revision it read is refused. */
  revision: number;
  updatedAt: string;
  updatedBy: string;
}

export interface KeptProgram {
  name: string;
  published: string | null;
  draft: Omit<Draft, 'files'> | null;
}

export interface Change {
  by: string;
  now: number;
}

/** Drafts and published versions of programs, in the database: all instances serve the same. */
export interface PublishedPrograms {
  /** The id of the version in use, by program. */
  current(trx?: Transaction<UssdTables>): Promise<Map<string, string>>;
  load(id: string): Promise<KeptVersion | undefined>;
  list(): Promise<KeptProgram[]>;
  loadDraft(name: string): Promise<Draft | undefined>;
  /** How often a draft of it was changed; 0 where there has been none. */
  revision(name: string): Promise<number>;
  /** The new revision; `undefined` if someone else has saved meanwhile. */
  saveDraft(
    trx: Transaction<UssdTables>,
    name: string,
    draft: Change & { files: ProgramFileMap; revision: number },
  ): Promise<number | undefined>;
  /** `false` if someone else has saved meanwhile, or there is none. */
  removeDraft(trx: Transaction<UssdTables>, name: string, revision: number): Promise<boolean>;
  /** Takes a version that is kept into use; `null` takes the program out of use. */
  use(trx: Transaction<UssdTables>, name: string, id: string | null): Promise<void>;
}

const maxPrograms = 200;

export function createPublishedPrograms({ db }: Pick<Store<UssdTables>, 'db'>): PublishedPrograms {
  return {
    async current(trx) {
      const rows = await (trx ?? db).selectFrom('ussd_program').select(['name', 'published']).orderBy('name').execute();
      return new Map(rows.flatMap(({ name, published }) => (published === null ? [] : [[name, published]])));
    },
    async load(id) {
      const row = await db.selectFrom('ussd_program_version').select('source').where('id', '=', id).executeTakeFirst();
      return row && (JSON.parse(row.source) as KeptVersion);
    },
    async list() {
      const rows = await db
        .selectFrom('ussd_program')
        .select(['name', 'published', 'revision', 'draft_at', 'draft_by'])
        .orderBy('name')
        .execute();
      return rows.map(({ name, published, revision, draft_at, draft_by }) => ({
        name,
        published,
        draft: draft_at === null ? null : { revision, updatedAt: toTime(draft_at), updatedBy: draft_by ?? '' },
      }));
    },
    async loadDraft(name) {
      const row = await db.selectFrom('ussd_program').selectAll().where('name', '=', name).executeTakeFirst();
      if (!row || row.draft === null || row.draft_at === null) return undefined;
      const { revision, draft, draft_at, draft_by } = row;
      return { files: JSON.parse(draft), revision, updatedAt: toTime(draft_at), updatedBy: draft_by ?? '' };
    },
    async revision(name) {
      const row = await db.selectFrom('ussd_program').select('revision').where('name', '=', name).executeTakeFirst();
      return row?.revision ?? 0;
    },
    async saveDraft(trx, name, { files, revision, by, now }) {
      const set = { draft: JSON.stringify(files), draft_at: now, draft_by: by };
      const changed = await trx
        .updateTable('ussd_program')
        .set({ ...set, revision: revision + 1 })
        .where('name', '=', name)
        .where('revision', '=', revision)
        .executeTakeFirst();
      if (changed.numUpdatedRows > 0n) return revision + 1;
      if (revision !== 0) return undefined;
      const { count } = await trx
        .selectFrom('ussd_program')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      if (Number(count) >= maxPrograms)
        throw new AppError('LIMIT_REACHED', `There are ${maxPrograms} programs already.`);
      const added = await trx
        .insertInto('ussd_program')
        .values({ name, published: null, revision: 1, ...set })
        .onConflict((conflict) => conflict.column('name').doNothing())
        .executeTakeFirst();
      return (added.numInsertedOrUpdatedRows ?? 0n) > 0n ? 1 : undefined;
    },
    async removeDraft(trx, name, revision) {
      const removed = await trx
        .updateTable('ussd_program')
        .set({ draft: null, draft_at: null, draft_by: null, revision: revision + 1 })
        .where('name', '=', name)
        .where('revision', '=', revision)
        .where('draft', 'is not', null)
        .executeTakeFirst();
      return removed.numUpdatedRows > 0n;
    },
    async use(trx, name, id) {
      await trx
        .insertInto('ussd_program')
        .values({ name, published: id, revision: 0, draft: null, draft_at: null, draft_by: null })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ published: id }))
        .execute();
    },
  };
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
