import { createHash } from 'node:crypto';
import { checkForms, type Forms } from '@palaver/forms/internal';
import {
  type Fault,
  type Menu,
  type MenuCheck,
  nameOf,
  type ProgramSource,
  programFile,
  type SourceFile,
} from '@palaver/program/internal';
import type { FindUnmetNeeds } from './bundled-program.ts';
import type { CheckProgram } from './program-checks.ts';
import { asksSecret, checkCodes, codesOf, keywordsOf } from './program-files.ts';
import type { KeptVersion, PublishedPrograms } from './published.ts';
import { findPrograms, readProgramSource, SourceFault } from './read-source.ts';

export interface Loaded {
  menus: Map<string, Menu>;
  sources: Map<string, KeptVersion>;
  warnings: Fault[];
  faults: Fault[];
  /** Published versions that cannot run, and programs of the folder whose codes a published one has. */
  unusable: Fault[];
}

export interface LoadOptions {
  folder: string;
  forms: Pick<Forms, 'inspect'>;
  fetched?: () => readonly SourceFile[];
  findUnmetNeeds: FindUnmetNeeds;
  published: PublishedPrograms;
}

export interface LoadParts extends LoadOptions {
  base: ProgramSource;
  check: CheckProgram;
}

export interface CheckedProgram {
  check: MenuCheck;
  id: string;
  kept: KeptVersion;
}

export async function checkSource(
  parts: LoadParts,
  source: ProgramSource,
  inUse?: ReadonlyMap<string, Menu>,
): Promise<CheckedProgram> {
  const { base } = parts;
  const whole = withFetched(source, parts.fetched?.() ?? []);
  const version = toVersion(whole, base);
  const kept = { source: whole, base };
  const same = inUse?.get(`${source.name}@${version}`);
  if (same) return { check: { ok: true, menu: same, warnings: [] }, id: same.id, kept };
  const own = await checkForms(await parts.check(whole, base), whole, parts.forms);
  const check = addNeeds(own, parts, whole);
  const name = check.ok && check.menu.id !== '' ? check.menu.id : source.name;
  return { check, id: `${name}@${version}`, kept };
}

async function checkPublished(parts: LoadParts, id: string): Promise<MenuCheck | undefined> {
  const kept = await parts.published.load(id);
  return kept && addNeeds(await parts.check(kept.source, kept.base ?? parts.base), parts, kept.source);
}

/** What the deployment lacks is a fault of the program, like a fault in its text. */
function addNeeds(check: MenuCheck, { findUnmetNeeds }: LoadParts, source: ProgramSource): MenuCheck {
  if (!check.ok) return check;
  const wrongCodes = checkCodes(check.menu, source);
  if (wrongCodes.length > 0) return { ok: false, faults: wrongCodes };
  const { faults, warnings } = findUnmetNeeds(check.menu);
  const at = (message: string) => ({ file: fileOf(source) ?? programFile, line: 1, message });
  if (faults.length > 0) return { ok: false, faults: faults.map(at) };
  return { ...check, warnings: [...check.warnings, ...[...warnings, ...findSecrets(check.menu)].map(at)] };
}

function findSecrets(menu: Menu): string[] {
  const secret = [...menu.states].flatMap(([name, state]) => (asksSecret(state) ? [name] : []));
  if (secret.length === 0 || keywordsOf(menu).length === 0) return [];
  return [
    `texts stay on phones, so that by SMS these states ask nothing and say to dial instead: ${secret.join(', ')}`,
  ];
}

const fileOf = ({ files }: ProgramSource) => files.find(({ path }) => path === programFile)?.file;

/** Published programs come first, then those of the folder under other names. Versions in `inUse` are not checked again. */
export async function loadAll(parts: LoadParts, inUse: ReadonlyMap<string, Menu>): Promise<Loaded> {
  const loaded: Loaded = { menus: new Map(), sources: new Map(), warnings: [], faults: [], unusable: [] };
  const taken = new Map<string, string>();
  for (const [name, id] of await parts.published.current()) {
    const same = inUse.get(id);
    const check: MenuCheck | undefined = same
      ? { ok: true, menu: same, warnings: [] }
      : await checkPublished(parts, id);
    const clash = check?.ok ? findClash(name, check.menu, taken) : undefined;
    if (check?.ok && clash === undefined) {
      claim(name, check.menu, taken, id);
      loaded.menus.set(name, { ...check.menu, id });
      continue;
    }
    const message = clash ?? 'the published version is not kept';
    const faults = check && !check.ok ? check.faults : [{ file: programFile, line: 1, message }];
    loaded.unusable.push(...faults.map((fault) => ({ ...fault, file: `${id}/${fault.file}` })));
  }
  const published = new Map(taken);
  for (const path of await listPrograms(parts.folder, loaded.faults)) {
    try {
      const source = await readProgramSource(path);
      const { check, id, kept } = await checkSource(parts, source, inUse);
      if (!check.ok) {
        loaded.faults.push(...check.faults);
        continue;
      }
      const name = nameOf(id);
      if (loaded.menus.has(name) && !loaded.sources.has(loaded.menus.get(name)?.id ?? '')) continue;
      const menu = { ...check.menu, id };
      const file = fileOf(source) ?? '';
      const clash = findClash(name, menu, taken);
      if (clash !== undefined) {
        // A program that was published later never prevents the start.
        const isPublished = findClash(name, menu, published) !== undefined;
        (isPublished ? loaded.unusable : loaded.faults).push({ file, line: 1, message: clash });
        continue;
      }
      claim(name, menu, taken, file);
      loaded.menus.set(name, menu);
      loaded.sources.set(id, kept);
      loaded.warnings.push(...check.warnings);
    } catch (error) {
      if (!(error instanceof SourceFault)) throw error;
      loaded.faults.push({ file: error.path, line: 1, message: error.message });
    }
  }
  return loaded;
}

const claimedCodes = (menu: Menu) => {
  const codes = codesOf(menu);
  const keywords = keywordsOf(menu).map((word) => `the keyword ${word}`);
  return [...(codes.length > 0 ? codes : ['every other code']), ...keywords];
};
const claimsOf = (name: string, menu: Menu) => [`the name ${name}`, ...claimedCodes(menu)];

function claim(name: string, menu: Menu, taken: Map<string, string>, owner: string): void {
  for (const claimed of claimsOf(name, menu)) taken.set(claimed, owner);
}

function findClash(name: string, menu: Menu, taken: ReadonlyMap<string, string>): string | undefined {
  const clash = claimsOf(name, menu).find((claimed) => taken.has(claimed));
  return clash === undefined ? undefined : `${clash} belongs to ${taken.get(clash)}`;
}

export function findOwner(name: string, menu: Menu, current: ReadonlyMap<string, Menu>): string | undefined {
  const taken = new Map<string, string>();
  for (const [other, used] of current) {
    if (other !== name) for (const code of claimedCodes(used)) taken.set(code, used.id);
  }
  return findClash(name, menu, taken);
}

/** Only what a program names is part of its version. */
function withFetched(source: ProgramSource, fetched: readonly SourceFile[]): ProgramSource {
  const named = new Set(source.files.flatMap(({ text }) => text.match(/forms\/server\/[\w.-]+(?=\.xml)/g) ?? []));
  const isNamed = (path: string) => [...named].some((name) => path === `${name}.xml` || path.startsWith(`${name}/`));
  return { ...source, files: [...source.files, ...fetched.filter(({ path }) => isNamed(path))] };
}

async function listPrograms(folder: string, faults: Fault[]): Promise<string[]> {
  try {
    return await findPrograms(folder);
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    faults.push({ file: error.path, line: 1, message: error.message });
    return [];
  }
}

const versionCharacters = 12;

function toVersion(source: ProgramSource, base: ProgramSource): string {
  const hash = createHash('sha256');
  const all = source === base ? [source] : [source, base];
  for (const { files } of all) for (const { path, text } of files) hash.update(`${path}\0${text.length}\0${text}\0`);
  return hash.digest('hex').slice(0, versionCharacters);
}
