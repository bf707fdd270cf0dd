import { AppError } from '@palaver/contract';
import { type Fault, formatFault, type Menu, nameOf } from '@palaver/program/internal';
import { LRUCache } from 'lru-cache';
import type { By, Clock, UssdAudit, UssdStore } from '../store/tables.ts';
import { codesOf, fromSource, type ProgramFileMap } from './program-files.ts';
import type { Programs } from './programs.ts';
import type { PublishedPrograms } from './published.ts';
import type { Trial } from './try-program.ts';

export interface PublishOptions {
  files?: ProgramFileMap;
  /** The revision of the draft that was checked; a request for an older one is refused. */
  revision?: number | undefined;
  note?: string | undefined;
}

export interface PublishingParts {
  store: UssdStore;
  programs: Pick<Programs, 'current' | 'check' | 'try' | 'refuse' | 'refresh' | 'reload'>;
  published: PublishedPrograms;
  audit: UssdAudit;
  clock: Clock;
  readOnly: boolean;
}

const maxTried = 20;

export function createPublishing(parts: PublishingParts) {
  const { store, programs, published, audit, clock } = parts;
  const guard = () => {
    if (parts.readOnly) throw new AppError('FORBIDDEN', 'Programs cannot be changed here: PROGRAMS_READONLY is set.');
  };
  const inUse = (name: string) => programs.current().find(({ id }) => nameOf(id) === name);
  const load = async (name: string, version: string) => {
    const kept = nameOf(version) === name ? await published.load(version) : undefined;
    if (!kept) throw new AppError('NOT_FOUND', `There is no version ${version} of ${name}.`);
    return kept;
  };
  const draftOf = async (name: string) => {
    const draft = await published.loadDraft(name);
    if (draft) return draft;
    const id = inUse(name)?.id;
    if (id === undefined) throw new AppError('NOT_FOUND', `There is no program ${name}.`);
    const files = fromSource((await load(name, id)).source);
    return { files, revision: await published.revision(name), updatedAt: null, updatedBy: null };
  };
  /** Refreshes too, because the check of service codes reads the programs in use here. */
  const readOthers = async (name: string) => {
    const others = toOthers(name, await published.current());
    await programs.refresh();
    return others;
  };
  const change = async (name: string, id: string | null, by: By, { action, note, menu, others }: Change) => {
    await store.transaction(async (trx) => {
      const current = await published.current(trx);
      if (others !== undefined && toOthers(name, current) !== others)
        throw new AppError('CONFLICT', 'Another program was published at the same time. Try again.');
      const replaced = current.get(name) ?? null;
      await published.use(trx, name, id);
      if (action === 'program.published' && id !== null)
        await published.markPublished(trx, id, { at: clock.now(), by: by.actor, replaced, note });
      await audit.record({ ...by, action, subject: name, details: { version: id } }, trx);
    });
    // The program is published even if this instance loses its connection now.
    await programs.refresh(menu).catch(() => programs.reload());
  };
  const tried = new LRUCache<string, Menu>({ max: maxTried });
  const checkDraft = async (name: string) => {
    const draft = await draftOf(name);
    const key = `${name} ${draft.revision} ${inUse(name)?.id}`;
    const known = tried.get(key);
    if (known) return { key, menu: known };
    const { check } = await programs.check(name, draft.files);
    if (!check.ok) throw hasFaults(check.faults);
    tried.set(key, check.menu);
    return { key, menu: check.menu };
  };
  return {
    readOnly: parts.readOnly,
    async list() {
      const kept = await published.list();
      const names = new Set([...programs.current().map(({ id }) => nameOf(id)), ...kept.map(({ name }) => name)]);
      return [...names].sort().map((name) => {
        const menu = inUse(name);
        const row = kept.find((program) => program.name === name);
        return {
          name,
          title: row?.draftTitle ?? menu?.title ?? null,
          version: menu?.id ?? null,
          codes: menu ? [...codesOf(menu)] : [],
          languages: menu ? [...menu.locales.keys()] : [],
          isPublished: row?.published != null && row.published === menu?.id,
          published: row?.published ?? null,
          draft: row?.draft ?? null,
        };
      });
    },
    draft: draftOf,
    async saveDraft(name: string, draft: { files: ProgramFileMap; revision: number }, by: By) {
      guard();
      return store.transaction(async (trx) => {
        const revision = await published.saveDraft(trx, name, { ...draft, by: by.actor, now: clock.now() });
        if (revision === undefined) throw changedMeanwhile();
        await audit.record({ ...by, action: 'draft.saved', subject: name, details: { revision } }, trx);
        return { revision };
      });
    },
    async removeDraft(name: string, revision: number, by: By) {
      guard();
      const isRemoved = await store.transaction(async (trx) => {
        if (!(await published.removeDraft(trx, name, revision))) return false;
        await audit.record({ ...by, action: 'draft.removed', subject: name }, trx);
        return true;
      });
      if (isRemoved) return;
      if (await published.loadDraft(name)) throw changedMeanwhile();
      throw new AppError('NOT_FOUND', `There is no draft of ${name}.`);
    },
    async check(name: string, files?: ProgramFileMap) {
      const { check } = await programs.check(name, files ?? (await draftOf(name)).files);
      return check.ok
        ? { ok: true, faults: [], warnings: check.warnings }
        : { ok: false, faults: check.faults, warnings: [] };
    },
    async try(name: string, trial: Trial) {
      const { key, menu } = await checkDraft(name);
      return programs.try(key, menu, trial);
    },
    async publish(name: string, { files, revision, note }: PublishOptions, by: By) {
      guard();
      const draft = files ? undefined : await draftOf(name);
      if (revision !== undefined && draft && draft.revision !== revision) throw changedMeanwhile();
      const others = await readOthers(name);
      const checked = await programs.check(name, files ?? draft?.files ?? {});
      if (!checked.check.ok) throw hasFaults(checked.check.faults);
      const { id, kept } = checked;
      await published.keep(id, kept);
      const menu = { ...checked.check.menu, id };
      await change(name, id, by, { action: 'program.published', note, menu, others });
      return { version: id };
    },
    async versions(name: string) {
      const id = inUse(name)?.id;
      return (await published.versions(name)).map((version) => ({ ...version, isCurrent: version.version === id }));
    },
    files: async (name: string, version: string) => fromSource((await load(name, version)).source),
    async rollBack(name: string, version: string, by: By) {
      guard();
      await load(name, version);
      const others = await readOthers(name);
      const refused = await programs.refuse(version);
      if (refused !== undefined) throw new AppError('CONFLICT', `This version cannot be used: ${refused}.`);
      await change(name, version, by, { action: 'program.rolledBack', others });
      return { version };
    },
    async withdraw(name: string, by: By) {
      guard();
      if (!(await published.current()).has(name)) throw new AppError('NOT_FOUND', `${name} is not published.`);
      await change(name, null, by, { action: 'program.withdrawn' });
    },
  };
}

export type Publishing = ReturnType<typeof createPublishing>;

interface Change {
  action: 'program.published' | 'program.rolledBack' | 'program.withdrawn';
  note?: string | undefined;
  menu?: Menu;
  others?: string;
}

function toOthers(name: string, published: ReadonlyMap<string, string>): string {
  return JSON.stringify([...published].filter(([other]) => other !== name));
}

function hasFaults(faults: Fault[]): AppError {
  return new AppError('VALIDATION_FAILED', `The program has faults: ${formatFault(faults[0] as Fault)}`, {
    details: {
      faults,
      issues: faults.map((fault) => ({ path: `${fault.file}:${fault.line}`, message: fault.message })),
    },
  });
}

function changedMeanwhile(): AppError {
  return new AppError('CONFLICT', 'The draft has changed since it was read. Read it again.');
}
