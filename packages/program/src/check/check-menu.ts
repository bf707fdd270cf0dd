import type { FormSource } from '../model/form-protocol.ts';
import { type Menu, type Registry, resumeTarget } from '../model/menu.ts';
import type { DataFile } from '../model/rows.ts';
import type { LocaleFile } from '../parse/parse-locale.ts';
import type { MenuFile, PlacedState } from '../parse/parse-menu.ts';
import { keywordIn } from '../states/action.ts';
import { kindOf, requiresLogin, targetsOf } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';
import { suggest } from '../values/suggest.ts';
import { checkAnswers } from './check-answers.ts';
import { checkFit } from './check-fit.ts';
import { checkTexts } from './check-texts.ts';
import { checkValues } from './check-values.ts';
import { offerOptions } from './offer-options.ts';
import { warnOfSums, warnOfUnchecked } from './warn-of-records.ts';

export type MenuCheck = { ok: true; menu: Menu; warnings: Fault[] } | { ok: false; faults: Fault[] };

export interface ParsedMenu {
  files: MenuFile[];
  locales: LocaleFile[];
  /** What the program extends: its states and texts count where the program has none of the same name. */
  base?: Omit<ParsedMenu, 'base' | 'data' | 'forms'>;
  data?: ReadonlyMap<string, DataFile>;
  forms?: ReadonlyMap<string, FormSource>;
}

/** Joins parsed files to a menu, or says everything that is wrong with them at once. */
export function checkMenu(parsed: ParsedMenu, registry: Registry): MenuCheck {
  const { files, locales, base, data = new Map(), forms = new Map() } = parsed;
  const faults: Fault[] = [...files, ...locales].flatMap((file) => file.faults);
  const all = joinStates(files, base?.files ?? [], faults);
  // What a file that cannot be read says is not known.
  if (files.some((file) => file.faults.length > 0)) return { ok: false, faults };
  const start = onlyOne(files, base?.files, 'start', faults);
  const exit = onlyOne(files, base?.files, 'exit', faults);
  const login = onlyOne(files, base?.files, 'login', faults);
  if (faults.length > 0 || start === undefined || exit === undefined) return { ok: false, faults };

  const isOwnLogin = files.some((file) => file.login);
  const roots = [start, exit, ...(isOwnLogin && login ? [login] : [])];
  const used = findReached(all, roots, login);
  const own = new Map([...all].filter(([name, { inherited }]) => !inherited || used.has(name)));
  const header = files.find((file) => file.header)?.header;
  const joined = joinLocales(files, locales, base?.locales ?? []);
  const states = header ? offerOptions(own, { start, locales: joined.locales, registry }) : own;
  const known = new Map([...all, ...states]);
  const { records = {}, secrets = [] } = header ?? {};
  const declared = { registry, data, records };
  for (const [name, placed] of states) {
    const { state } = placed;
    const say = (path: PropertyKey[], message: string) => faults.push(faultAt(name, placed, path, message));
    for (const { to, path } of targetsOf(state))
      if (to !== resumeTarget && !known.has(to))
        say(path, `leads to ${to}, which does not exist${suggest(to, known.keys())}`);
    kindOf(state).check?.(state, { ...declared, forms, say });
  }
  faults.push(...checkEnds(files, states, { start, exit }), ...checkLogin(files, states, login));
  if (faults.length === 0) faults.push(...checkPaths(states, findReached(states, roots, login)));
  if (faults.length === 0) faults.push(...checkAnswers(states, registry, { start, ...(login && { login }) }));
  faults.push(...joined.faults);
  const values = checkValues(states, declared);
  for (const [name, placed] of states) {
    const { keyword, spec } = (placed.state.kind === 'action' && keywordIn(placed.state)) || {};
    const say = (path: PropertyKey[], message: string) => faults.push(faultAt(name, placed, path, message));
    if (spec) keyword?.check?.(spec, { ...values, records, secrets, say });
  }
  const texts = checkTexts(states, joined.locales, { registry, values });
  faults.push(...values.faults, ...texts.faults);
  if (faults.length > 0) return { ok: false, faults };

  const menu: Menu = {
    id: header?.name ?? '',
    channel: { codes: header?.codes },
    start,
    exit,
    ...(login !== undefined && states.has(login) && { login }),
    states: new Map(Array.from(states, ([name, { state }]) => [name, state])),
    places: new Map(
      Array.from(states, ([name, { file, lineOf, inherited = false }]) => [name, { file, line: lineOf(), inherited }]),
    ),
    locales: new Map(joined.locales.map(({ language, texts }) => [language, texts])),
    registry,
    records,
    secrets,
    types: values.types,
    expressions: values.expressions,
    data,
    forms,
    isProgram: header !== undefined,
  };
  const fit = checkFit(menu, states);
  if (fit.faults.length > 0) return { ok: false, faults: fit.faults };
  const unsafe = [...warnOfSums(states, values), ...warnOfUnchecked(states, values, start)];
  return { ok: true, menu, warnings: [...unsafe, ...texts.warnings, ...fit.warnings] };
}

function joinStates(files: MenuFile[], base: MenuFile[], faults: Fault[]): Map<string, PlacedState> {
  const states = new Map<string, PlacedState>();
  for (const [name, placed] of files.flatMap((file) => [...file.states])) {
    const first = states.get(name);
    if (!first) states.set(name, placed);
    else faults.push(faultAt(name, placed, [], `is already defined in ${first.file}:${first.lineOf()}`));
  }
  for (const [name, placed] of base.flatMap((file) => [...file.states])) {
    if (!states.has(name)) states.set(name, { ...placed, inherited: true });
  }
  return states;
}

/** The program's languages, each with its own texts over those it inherits. */
function joinLocales(
  files: MenuFile[],
  own: LocaleFile[],
  base: LocaleFile[],
): { locales: LocaleFile[]; faults: Fault[] } {
  const program = files.find((file) => file.header);
  const listed = program?.header?.languages;
  const languages = listed ?? (own.length > 0 ? own : base).map(({ language }) => language);
  const faults: Fault[] = [];
  const locales = languages.flatMap((language, i) => {
    const [mine, inherited] = [own, base].map((files) => files.find((locale) => locale.language === language));
    const texts = new Map([...(inherited?.texts ?? []), ...(mine?.texts ?? [])]);
    if (mine) return [{ ...mine, texts, inherited: inherited?.texts }];
    if (inherited) return [{ ...inherited, inherited: inherited.texts }];
    const message = `there is no file locales/${language}.yaml`;
    faults.push({ file: program?.file ?? '', line: program?.header?.lineOf('languages', i) ?? 1, message });
    return [];
  });
  for (const { file, language } of own) {
    if (!languages.includes(language))
      faults.push({ file, line: 1, message: `the language ${language} is not among the languages of the program` });
  }
  return { locales, faults };
}

function faultAt(state: string, placed: PlacedState, path: PropertyKey[], message: string): Fault {
  return { file: placed.file, line: placed.lineOf(...path), state, message };
}

type Named = 'start' | 'exit' | 'login';

function onlyOne(files: MenuFile[], base: MenuFile[] | undefined, which: Named, faults: Fault[]): string | undefined {
  const [first, ...more] = files.flatMap((file) => (file[which] ? [{ file: file.file, ...file[which] }] : []));
  for (const { file, line } of more) {
    faults.push({ file, line, message: `${which} is already given in ${first?.file}:${first?.line}` });
  }
  if (first) return first.name;
  const inherited = base?.find((file) => file[which])?.[which]?.name;
  if (inherited === undefined && files.length > 0 && which !== 'login') {
    faults.push({ file: files[0]?.file ?? '', line: 1, message: `no file names the ${which} state` });
  }
  return inherited;
}

function checkEnds(
  files: MenuFile[],
  states: ReadonlyMap<string, PlacedState>,
  names: { start: string; exit: string },
): Fault[] {
  const faults: Fault[] = [];
  for (const which of ['start', 'exit'] as const) {
    const file = files.find((candidate) => candidate[which]);
    const state = states.get(names[which])?.state;
    const wanted = which === 'start' ? 'menu' : 'end';
    if (state?.kind !== wanted) {
      const message = `${which} must name a state of kind ${wanted}, ${names[which]} ${state ? `is a ${state.kind}` : 'does not exist'}`;
      faults.push({ file: file?.file ?? '', line: file?.[which]?.line ?? 1, message });
    }
  }
  return [...faults, ...checkStart(states, names.start)];
}

/** What its condition or a login leads to may be an action, and a dial runs none. */
function checkStart(states: ReadonlyMap<string, PlacedState>, start: string): Fault[] {
  const placed = states.get(start);
  if (placed?.state.kind !== 'menu') return [];
  const { state } = placed;
  return (['when', 'requires'] as const)
    .filter((field) => state[field] !== undefined)
    .map((field) => faultAt(start, placed, [field], `the start is shown at every dial: it cannot have ${field}`));
}

function checkLogin(files: MenuFile[], states: ReadonlyMap<string, PlacedState>, login: string | undefined): Fault[] {
  if (login === undefined) {
    return Array.from(states)
      .filter(([, { state }]) => requiresLogin(state))
      .map(([name, placed]) =>
        faultAt(name, placed, ['requires'], 'requires a login, and no file names the login state'),
      );
  }
  const file = files.find((candidate) => candidate.login);
  if (!file) return [];
  const at = { file: file.file, line: file.login?.line ?? 1 };
  if (!states.has(login)) return [{ ...at, message: `login must name a state; there is no state ${login}` }];
  if (requiresLogin(states.get(login)?.state))
    return [{ ...at, message: `the login ${login} itself requires a login` }];
  return [];
}

/** What can be reached from these states. A state that requires a login leads to it. */
function findReached(
  states: ReadonlyMap<string, PlacedState>,
  from: readonly string[],
  login: string | undefined,
): Set<string> {
  const reached = new Set<string>();
  const open = [...from];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    const state = states.get(name)?.state;
    if (state) open.push(...targetsOf(state).map(({ to }) => to));
    if (requiresLogin(state) && login !== undefined) open.push(login);
  }
  return reached;
}

/** What only the whole graph shows: states nobody can reach, actions that follow each other for ever. */
function checkPaths(states: ReadonlyMap<string, PlacedState>, reached: ReadonlySet<string>): Fault[] {
  const faults: Fault[] = [];
  for (const [name, placed] of states) {
    if (!reached.has(name)) faults.push(faultAt(name, placed, [], 'cannot be reached from the start'));
    if (isInActionCircle(name, states)) faults.push(faultAt(name, placed, [], 'its actions lead in a circle'));
  }
  return faults;
}

function isInActionCircle(name: string, states: ReadonlyMap<string, PlacedState>): boolean {
  const seen = new Set<string>();
  const next = (from: string) => {
    const state = states.get(from)?.state;
    // A loop ends with its list.
    const isSilent = state && !('text' in state) && state.kind !== 'each' && state.kind !== 'form';
    return isSilent ? targetsOf(state).map(({ to }) => to) : [];
  };
  const open = next(name);
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === name) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    open.push(...next(at));
  }
  return false;
}
