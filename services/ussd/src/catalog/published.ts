import { AppError } from '@palaver/contract';
import { nameOf, type ProgramSource } from '@palaver/program/internal';
import { type Clock, countRows, dayMs, insertOnce, type Trx, toTime, type UssdStore } from '../store/tables.ts';
import { type ProgramFileMap, titleOf } from './program-files.ts';

const unpublished = { published_at: null, published_by: null, note: null, replaced: null };
const noDraft = { draft: null, draft_at: null, draft_by: null, draft_title: null };
const maxPrograms = 200;
const keptVersions = 20;
const maxListed = 200;
const keptMs = 30 * dayMs;

export interface KeptVersion {
  source: ProgramSource;
  /** Of the program that it extends. */
  base?: ProgramSource;
}

interface Publication {
  at: number;
  by: string;
  replaced: string | null;
  note?: string | undefined;
}

/** Kept in the database, so that all instances serve the same programs and continue sessions on earlier versions. */
export function createPublishedPrograms({ db }: UssdStore, clock: Clock) {
  return {
    async current(trx?: Trx) {
      const rows = await (trx ?? db).selectFrom('ussd_program').select(['name', 'published']).orderBy('name').execute();
      return new Map(rows.flatMap(({ name, published }) => (published === null ? [] : [[name, published]])));
    },
    async list() {
      const rows = await db
        .selectFrom('ussd_program')
        .select(['name', 'published', 'revision', 'draft_at', 'draft_by', 'draft_title'])
        .orderBy('name')
        .execute();
      return rows.map(({ name, published, revision, draft_at, draft_by, draft_title }) => ({
        name,
        published,
        draftTitle: draft_title,
        draft: draft_at === null ? null : { revision, updatedAt: toTime(draft_at), updatedBy: draft_by ?? '' },
      }));
    },
    async loadDraft(name: string) {
      const row = await db.selectFrom('ussd_program').selectAll().where('name', '=', name).executeTakeFirst();
      if (!row || row.draft === null || row.draft_at === null) return undefined;
      const { revision, draft, draft_at, draft_by } = row;
      return { files: JSON.parse(draft), revision, updatedAt: toTime(draft_at), updatedBy: draft_by ?? '' };
    },
    async revision(name: string) {
      const row = await db.selectFrom('ussd_program').select('revision').where('name', '=', name).executeTakeFirst();
      return row?.revision ?? 0;
    },
    /** The new revision; `undefined` if someone else has saved meanwhile. */
    async saveDraft(
      trx: Trx,
      name: string,
      { files, revision, by, now }: { files: ProgramFileMap; revision: number; by: string; now: number },
    ) {
      const set = { draft: JSON.stringify(files), draft_at: now, draft_by: by, draft_title: titleOf(files) };
      const changed = await trx
        .updateTable('ussd_program')
        .set({ ...set, revision: revision + 1 })
        .where('name', '=', name)
        .where('revision', '=', revision)
        .executeTakeFirst();
      if (changed.numUpdatedRows > 0n) return revision + 1;
      if (revision !== 0) return undefined;
      if ((await countRows(trx.selectFrom('ussd_program'))) >= maxPrograms)
        throw new AppError('LIMIT_REACHED', `There are ${maxPrograms} programs already.`);
      const isAdded = await insertOnce(trx, 'ussd_program', { name, published: null, revision: 1, ...set });
      return isAdded ? 1 : undefined;
    },
    async removeDraft(trx: Trx, name: string, revision: number) {
      const removed = await trx
        .updateTable('ussd_program')
        .set({ ...noDraft, revision: revision + 1 })
        .where('name', '=', name)
        .where('revision', '=', revision)
        .where('draft', 'is not', null)
        .executeTakeFirst();
      return removed.numUpdatedRows > 0n;
    },
    /** `null` takes the program out of use. */
    async use(trx: Trx, name: string, id: string | null) {
      await trx
        .insertInto('ussd_program')
        .values({ name, published: id, revision: 0, ...noDraft })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ published: id }))
        .execute();
    },
    async keep(id: string, version: KeptVersion) {
      const program = nameOf(id);
      const now = clock.now();
      await db
        .insertInto('ussd_program_version')
        .values({ id, program, source: JSON.stringify(version), used_at: now, ...unpublished })
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
    async versions(program: string) {
      const rows = await db
        .selectFrom('ussd_program_version')
        .select(['id', 'used_at', 'published_at', 'published_by', 'note', 'replaced'])
        .where('program', '=', program)
        .orderBy('used_at', 'desc')
        .limit(maxListed)
        .execute();
      return rows.map(({ id, used_at, published_at, published_by, note, replaced }) => ({
        version: id,
        usedAt: toTime(used_at),
        publishedAt: published_at === null ? null : toTime(published_at),
        publishedBy: published_by,
        note,
        replaced,
      }));
    },
    async markPublished(trx: Trx, id: string, { at, by, replaced, note }: Publication) {
      await trx
        .updateTable('ussd_program_version')
        .set({ published_at: at, published_by: by, note: note ?? null, ...(replaced !== id && { replaced }) })
        .where('id', '=', id)
        .execute();
    },
  };
}

export type PublishedPrograms = ReturnType<typeof createPublishedPrograms>;
