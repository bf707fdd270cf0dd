import { changeYaml, printYaml } from '@palaver/program/print';
import { type Document, isMap, LineCounter, type Node, parseDocument, type Scalar } from 'yaml';
import { toTitle } from './names.ts';
import type { ProgramFiles } from './program-api.ts';

export type Path = readonly (string | number)[];

export interface StateLink {
  to: string;
  label: string;
  path: Path;
}

export type Raw = Record<string, unknown>;

export type ProgramState = ReturnType<typeof toState>;
export type ProgramModel = ReturnType<typeof toModel>;

const menuPath = /^[^/]+\.ya?ml$/;
const localePath = /^locales\/([^/]+)\.ya?ml$/;
/** Continues an unfinished form; it is not a state. */
const resumeTarget = '@resume';

const models = new WeakMap<ProgramFiles, ProgramModel>();

export function readProgram(files: ProgramFiles): ProgramModel {
  const model = models.get(files) ?? toModel(files);
  models.set(files, model);
  return model;
}

/** The program may have faults: what can be read is shown. */
function toModel(files: ProgramFiles) {
  const texts = new Map<string, Map<string, string>>();
  const states = new Map<string, ProgramState>();
  let header: Raw = {};
  let start: string | undefined;
  for (const [path, text] of Object.entries(files)) {
    const language = localePath.exec(path)?.[1];
    if (language) texts.set(language, toTexts(parse(text).value));
    if (!menuPath.test(path)) continue;
    const { value, lineOf } = parse(text);
    if (path === 'program.yaml') header = value;
    if (typeof value.start === 'string') start = value.start;
    for (const [name, raw] of Object.entries(toRecord(value.states)))
      states.set(name, toState(name, toRecord(raw), { file: path, lineOf }));
  }
  const named = [...states.values()].flatMap(({ links }) => links.map(({ to }) => to));
  const outside = [...new Set([...named, ...(start === undefined ? [] : [start])])].filter((to) => !states.has(to));
  const listed = toNames(header.languages);
  const name = typeof header.name === 'string' ? header.name : '';
  return {
    name,
    title: typeof header.title === 'string' ? header.title : toTitle(name),
    codes: toNames(header.codes),
    keywords: toNames(header.keywords),
    secrets: toNames(header.secrets),
    start,
    languages: listed.length > 0 ? listed : [...texts.keys()],
    states: states as ReadonlyMap<string, ProgramState>,
    /** Targets that no file has: states of the program that this one extends. */
    outside,
    records: Object.fromEntries(Object.entries(toRecord(header.records)).map(([kind, of]) => [kind, toRecord(of)])),
    /** By language and key. */
    texts: texts as ReadonlyMap<string, ReadonlyMap<string, string>>,
    files,
  };
}

function toState(name: string, raw: Raw, { file, lineOf }: { file: string; lineOf(state: string): number }) {
  return {
    name,
    kind: typeof raw.kind === 'string' ? raw.kind : '',
    file,
    get line() {
      return lineOf(name);
    },
    raw,
    links: linksOf(raw),
  };
}

const toNames = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);

type ParsedFile = ReturnType<typeof toParsed>;

const maxParsed = 100;
const parsed = new Map<string, ParsedFile>();

/** A change touches one file or two; the others are not parsed again at each key that is pressed. */
function parse(text: string): ParsedFile {
  return remember(text, parsed.get(text) ?? toParsed(text, parseDocument(text, { uniqueKeys: false })));
}

function remember(text: string, file: ParsedFile): ParsedFile {
  parsed.delete(text);
  parsed.set(text, file);
  const [oldest] = parsed.keys();
  if (parsed.size > maxParsed && oldest !== undefined) parsed.delete(oldest);
  return file;
}

/** The file is not YAML and can be corrected only as text. */
export class FaultyFile extends Error {
  override readonly name = 'FaultyFile';
  readonly path: string;
  readonly line: number;
  constructor(path: string, line: number) {
    super(`${path}:${line} is not YAML`);
    this.path = path;
    this.line = line;
  }
}

/** Throws `FaultyFile`. Comments and the order of everything else are kept; the result need not be parsed. */
export function changeText(path: string, text: string, change: (document: Document) => void): string {
  const before = parse(text).document;
  const [fault] = before.errors;
  if (fault) throw new FaultyFile(path, fault.linePos?.[0].line ?? 1);
  const document = changeYaml(before, change);
  const next = printYaml(document);
  remember(next, toParsed(next, document));
  return next;
}

function toParsed(text: string, document: Document) {
  let value: Raw | undefined;
  let lines: Map<string, number> | undefined;
  return {
    document,
    get value(): Raw {
      value ??= toValue(document);
      return value;
    },
    lineOf(state: string): number {
      lines ??= toLines(text);
      return lines.get(state) ?? 1;
    },
  };
}

function toLines(text: string): Map<string, number> {
  const lineCounter = new LineCounter();
  const states = parseDocument(text, { lineCounter, uniqueKeys: false }).get('states');
  const items = isMap<Scalar<string>, Node>(states) ? states.items : [];
  return new Map(items.map(({ key, value }) => [key.value, lineCounter.linePos(value?.range?.[0] ?? 0).line]));
}

function toValue(document: Document): Raw {
  try {
    return toRecord(document.toJS({ maxAliasCount: 0 }));
  } catch {
    return {};
  }
}

function toTexts(value: unknown, path: string[] = [], texts = new Map<string, string>()): Map<string, string> {
  if (typeof value === 'string') texts.set(path.join('.'), value);
  else for (const [key, inner] of Object.entries(toRecord(value))) toTexts(inner, [...path, key], texts);
  return texts;
}

export function toRecord(value: unknown): Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : {};
}

export function linksOf(state: Raw): StateLink[] {
  const links: StateLink[] = [];
  const add = (to: unknown, label: unknown, path: Path) => {
    if (typeof to === 'string' && to !== resumeTarget) links.push({ to, label: String(label ?? ''), path });
  };
  const listOf = (value: unknown) => (Array.isArray(value) ? value.map(toRecord) : []);
  for (const [i, { to, key, text }] of listOf(state.options).entries())
    add(to, `${key ?? i + 1}. ${text ?? ''}`, ['options', i, 'to']);
  for (const [outcome, target] of Object.entries(toRecord(state.outcomes))) {
    if (typeof target === 'string') add(target, outcome, ['outcomes', outcome]);
    else add(toRecord(target).to, outcome, ['outcomes', outcome, 'to']);
  }
  for (const [i, { that, to }] of listOf(state.when).entries()) add(to, that, ['when', i, 'to']);
  for (const field of ['else', 'flow', 'do'] as const) add(state[field], field, [field]);
  add(state.to, state.save ?? '', ['to']);
  return links;
}

export function sayIn({ languages, texts }: ProgramModel, key: unknown, language?: string): string {
  if (typeof key !== 'string') return '';
  const order = language === undefined ? languages : [language];
  for (const name of order) {
    const text = texts.get(name)?.get(key)?.trim();
    if (text !== undefined) return text;
  }
  return key;
}

/** In the order in which callers come to them; those that nobody reaches are last. */
export function orderStates({ start, states }: ProgramModel): string[] {
  const seen = new Set<string>();
  const open = start !== undefined && states.has(start) ? [start] : [];
  for (const name of open) {
    if (seen.has(name)) continue;
    seen.add(name);
    for (const { to } of states.get(name)?.links ?? []) if (states.has(to) && !seen.has(to)) open.push(to);
  }
  return [...seen, ...[...states.keys()].filter((name) => !seen.has(name))];
}

export function sayLink(model: ProgramModel, label: string): string {
  const option = /^(\d+)\. (.+)$/.exec(label);
  return option ? `${option[1]}. ${sayIn(model, option[2])}` : label;
}
