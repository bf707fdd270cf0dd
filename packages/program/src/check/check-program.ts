import type { FormSource } from '../model/dialogue.ts';
import { type DataFile, type Menu, type Registry, resumeTarget } from '../model/menu.ts';
import {
  bundledProgram,
  type LocaleFile,
  type MenuFile,
  type PlacedState,
  type PlacedStates,
  parseLocale,
  parseMenu,
} from '../parse/parse-menu.ts';
import {
  isMenuPath,
  languageOf,
  type ProgramSource,
  parseDataFiles,
  programFile,
  toFormSources,
} from '../parse/program-source.ts';
import { kindOf, nextOf, reach, requiresLogin, targetsOf } from '../states/states.ts';
import { type Fault, suggest } from '../values/fault.ts';
import { checkFit, checkTexts, offerOptions } from './check-texts.ts';
import { checkValues } from './check-values.ts';
import { checkAnswers, warnOfSums, warnOfUnchecked } from './check-ways.ts';

export type MenuCheck = { ok: true; menu: Menu; warnings: Fault[] } | { ok: false; faults: Fault[] };

interface ParsedProgram {
  files: MenuFile[];
  locales: LocaleFile[];
}

interface ParsedMenu extends ParsedProgram {
  /** What the program extends: its states and texts count where the program has none of the same name. */
  base?: ParsedProgram;
  data?: ReadonlyMap<string, DataFile>;
  forms?: ReadonlyMap<string, FormSource>;
}

export function checkMenu(parsed: ParsedMenu, registry: Registry): MenuCheck {
  const { files, locales, base = { files: [], locales: [] }, data = new Map(), forms = new Map() } = parsed;
  const faults: Fault[] = [...files, ...locales].flatMap((file) => file.faults);
  const all = joinStates(files, base.files, faults);
  if (files.some((file) => file.faults.length > 0)) return { ok: false, faults };
  const find = (which: Named['which']) => findNamed(which, files, base.files, faults);
  const [start, exit, login] = [find('start'), find('exit'), find('login')];
  if (faults.length > 0 || !start || !exit) return { ok: false, faults };

  const roots = [start.name, exit.name, ...(login?.isOwn ? [login.name] : [])];
  const used = findReached(all, roots, login?.name);
  const own = new Map([...all].filter(([name, { inherited }]) => !inherited || used.has(name)));
  const program = files.find(({ isProgram }) => isProgram);
  const joined = joinLocales(program, locales, base.locales);
  const states = program ? offerOptions(own, { start: start.name, locales: joined.locales, registry }) : own;
  const known = new Map([...all, ...states]);
  const { name = '', title, codes, keywords, records = {}, secrets = [] } = program?.header ?? {};
  const declared = { registry, data, records };
  const values = checkValues(states, declared);
  for (const { state, fault } of states.values()) {
    const say = (path: PropertyKey[], message: string) => faults.push(fault(path, message));
    for (const { to, path } of targetsOf(state))
      if (to !== resumeTarget && !known.has(to))
        say(path, `leads to ${to}, which does not exist${suggest(to, known.keys())}`);
    kindOf(state).check?.(state, { ...declared, ...values, secrets, forms, say });
  }
  faults.push(...checkEnd(states, start, 'menu'), ...checkEnd(states, exit, 'end'));
  faults.push(...checkStart(states.get(start.name)), ...checkLogin(states, login));
  if (faults.length === 0) faults.push(...checkPaths(states, findReached(states, roots, login?.name)));
  if (faults.length === 0) faults.push(...checkAnswers(states, registry, start.name, login?.name));
  faults.push(...joined.faults);
  const texts = checkTexts(states, joined.locales, { registry, values });
  faults.push(...values.faults, ...texts.faults);
  if (faults.length > 0) return { ok: false, faults };

  const menu: Menu = {
    id: name,
    title,
    channel: { codes, keywords },
    start: start.name,
    exit: exit.name,
    login: login && states.has(login.name) ? login.name : undefined,
    states: new Map(Array.from(states, ([name, { state }]) => [name, state])),
    places: new Map(
      Array.from(states, ([name, { file, line, inherited = false }]) => [name, { file, line, inherited }]),
    ),
    locales: new Map(joined.locales.map(({ language, texts }) => [language, texts])),
    registry,
    records,
    secrets,
    types: values.types,
    expressions: values.expressions,
    data,
    forms,
  };
  const fit = checkFit(menu, states);
  if (fit.faults.length > 0) return { ok: false, faults: fit.faults };
  const unsafe = [...warnOfSums(states, values), ...warnOfUnchecked(states, values, start.name)];
  return { ok: true, menu, warnings: [...unsafe, ...texts.warnings, ...fit.warnings] };
}

function joinStates(files: MenuFile[], base: MenuFile[], faults: Fault[]): Map<string, PlacedState> {
  const states = new Map<string, PlacedState>();
  for (const [name, placed] of files.flatMap((file) => [...file.states])) {
    const first = states.get(name);
    if (!first) states.set(name, placed);
    else faults.push(placed.fault([], `is already defined in ${first.file}:${first.line}: rename one of the two`));
  }
  for (const [name, placed] of base.flatMap((file) => [...file.states])) {
    if (!states.has(name)) states.set(name, { ...placed, inherited: true });
  }
  return states;
}

function joinLocales(program: MenuFile | undefined, own: LocaleFile[], base: LocaleFile[]) {
  const languages = program?.header.languages ?? (own.length > 0 ? own : base).map(({ language }) => language);
  const faults: Fault[] = [];
  const locales = languages.flatMap((language, i): LocaleFile[] => {
    const [mine, inherited] = [own, base].map((files) => files.find((locale) => locale.language === language));
    const texts = new Map([...(inherited?.texts ?? []), ...(mine?.texts ?? [])]);
    const file = mine ?? inherited;
    if (file) return [{ ...file, texts, inherited: inherited?.texts }];
    const missing = `there is no file locales/${language}.yaml: add it, or leave out the language`;
    if (program) faults.push(program.fault(['languages', i], missing));
    return [];
  });
  for (const { file, language } of own) {
    const remedy = 'add it there, or delete the file';
    const message = `the language ${language} is not among the languages of the program: ${remedy}`;
    if (!languages.includes(language)) faults.push({ file, line: 1, message });
  }
  return { locales, faults };
}

interface Named {
  which: 'start' | 'exit' | 'login';
  name: string;
  isOwn: boolean;
  fault(message: string): Fault;
}

function findNamed(which: Named['which'], files: MenuFile[], base: MenuFile[], faults: Fault[]): Named | undefined {
  const [file, ...others] = files.filter(({ header }) => header[which] !== undefined);
  for (const other of others)
    faults.push(other.fault([which], `${which} is already given in ${file?.file}:${file?.lineOf([which])}: keep one`));
  const isOwn = file !== undefined;
  const name = (file ?? base.find(({ header }) => header[which] !== undefined))?.header[which];
  const fault = (message: string) => file?.fault([which], message) ?? { file: '', line: 1, message };
  if (name !== undefined) return { which, name, isOwn, fault };
  const message = `no file names the ${which} state: add \`${which}\` to program.yaml`;
  if (which !== 'login' && files[0]) faults.push({ file: files[0].file, line: 1, message });
  return undefined;
}

function checkEnd(states: PlacedStates, { which, name, fault }: Named, wanted: 'menu' | 'end'): Fault[] {
  const kind = states.get(name)?.state.kind;
  const is = kind ? `is a ${kind}` : 'does not exist';
  return kind === wanted ? [] : [fault(`${which} must name a state of kind ${wanted}, ${name} ${is}`)];
}

/** A condition or a login could lead to an action, and dialling runs none. */
function checkStart(placed: PlacedState | undefined): Fault[] {
  if (placed?.state.kind !== 'menu') return [];
  const { state, fault } = placed;
  const why = 'the start is shown at every dial and cannot have';
  return (['when', 'requires'] as const).flatMap((field) =>
    state[field] === undefined ? [] : [fault([field], `${why} ${field}: put it on a later state`)],
  );
}

function checkLogin(states: PlacedStates, login: Named | undefined): Fault[] {
  const missing = 'requires a login, and no file names the login state: add `login` to program.yaml';
  const guarded = [...states.values()].filter(({ state }) => requiresLogin(state));
  if (!login) return guarded.map(({ fault }) => fault(['requires'], missing));
  const { name, fault } = login;
  if (!login.isOwn) return [];
  if (!states.has(name))
    return [fault(`login must name a state; there is no state ${name}${suggest(name, states.keys())}`)];
  const isGuarded = requiresLogin(states.get(name)?.state);
  return isGuarded ? [fault(`the login ${name} itself requires a login: leave out its \`requires\``)] : [];
}

function findReached(states: PlacedStates, from: readonly string[], login = ''): Set<string> {
  return reach(from, (name) => {
    const state = states.get(name)?.state;
    return requiresLogin(state) && login !== '' ? [...nextOf(state), login] : nextOf(state);
  });
}

/** What only the whole graph shows: states nobody can reach, actions that follow each other for ever. */
function checkPaths(states: PlacedStates, reached: ReadonlySet<string>): Fault[] {
  const next = (name: string) => {
    const state = states.get(name)?.state;
    // A loop ends with its list.
    const isSilent = state && !('text' in state) && state.kind !== 'each' && state.kind !== 'form';
    return isSilent ? nextOf(state) : [];
  };
  return [...states].flatMap(([name, { fault }]) => [
    ...(reached.has(name) ? [] : [fault([], 'cannot be reached from the start: lead to it, or delete it')]),
    ...(reach(next(name), next).has(name)
      ? [fault([], 'its actions lead in a circle: let one of them lead to a screen')]
      : []),
  ]);
}

function parseProgram({ files }: ProgramSource): ParsedProgram {
  const menus = files.filter(({ path }) => isMenuPath(path));
  const locales = files.flatMap(({ file, path, text }) => {
    const language = languageOf(path);
    return language === undefined ? [] : [parseLocale(file, language, text)];
  });
  return { files: menus.map(({ file, path, text }) => parseMenu(file, text, path)), locales };
}

const keyOf = ({ files }: ProgramSource) => JSON.stringify(files.map(({ file, path, text }) => [file, path, text]));

/** The base is the same at every check, so it is parsed once. */
let lastBase: { key: string; parsed: ParsedProgram } | undefined;

function parseBase(base: ProgramSource): ParsedProgram {
  const key = keyOf(base);
  if (lastBase?.key !== key) lastBase = { key, parsed: parseProgram(base) };
  return lastBase.parsed;
}

const maxStates = 2_000;
const nameTaken = 'name: must be another name: the bundled menus and their reports have this one';

/** Parses and checks a program. `base` is what `extends: palaver` means. Runs in browsers too. */
export function checkProgram(source: ProgramSource, registry: Registry, base: ProgramSource): MenuCheck {
  const isBase = keyOf(source) === keyOf(base);
  const own = isBase ? parseBase(base) : parseProgram(source);
  // What the base keeps of callers is stored under its name.
  const misnamed = isBase ? undefined : own.files.find(({ header }) => header.name === bundledProgram);
  if (misnamed) return { ok: false, faults: [misnamed.fault(['name'], nameTaken)] };
  const isExtension = own.files.some(({ header }) => header.extends !== undefined);
  const states = own.files.reduce((sum, file) => sum + file.states.size, 0);
  const message = `a program has at most ${maxStates} states: divide it into several programs`;
  if (states > maxStates) return { ok: false, faults: [{ file: own.files[0]?.file ?? programFile, line: 1, message }] };
  const { data, faults } = parseDataFiles(source);
  if (faults.length > 0) return { ok: false, faults };
  const extended = isExtension && { base: parseBase(base) };
  return checkMenu({ ...own, data, forms: toFormSources(source), ...extended }, registry);
}
