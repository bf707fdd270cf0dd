import { type Document, isMap, parseDocument } from 'yaml';
import type { State } from '../model/menu.ts';
import type { MenuFile } from './parse-menu.ts';

/** One layout for the editor, the import and the command line. */
export function printYaml(document: Document): string {
  return document.toString({ lineWidth: 0 });
}

/** Changes a YAML file. Comments and the order of everything else are kept. */
export function changeYaml(document: Document, change: (document: Document) => void): Document {
  const changed = document.clone() as Document;
  if (changed.contents === null) changed.contents = changed.createNode({}) as never;
  change(changed);
  return changed;
}

/** What a file of a program consists of; `header` is there in program.yaml only. */
export interface PrintedFile {
  header?: Readonly<Record<string, unknown>>;
  start?: string;
  exit?: string;
  login?: string;
  states: ReadonlyMap<string, State>;
}

/** A file in memory as it is printed. */
export function toPrinted({ header, start, exit, login, states }: MenuFile): PrintedFile {
  const { lineOf: _, ...own } = header ?? { lineOf: undefined };
  return {
    ...(header && { header: own }),
    ...(start && { start: start.name }),
    ...(exit && { exit: exit.name }),
    ...(login && { login: login.name }),
    states: new Map(Array.from(states, ([name, { state }]) => [name, state])),
  };
}

/**
 * A file of a program as YAML. What is the same in the text `before` keeps its layout and its comments.
 * @example
 * printFile({ start: 'home', states: new Map([['home', { kind: 'end', text: 'home.bye' }]]) });
 * // start: home
 * // states:
 * //   home: { kind: end, text: home.bye }
 */
export function printFile({ header = {}, states, ...names }: PrintedFile, before = ''): string {
  const known = parseDocument(before);
  const document = changeYaml(known, (changed) => {
    const was = (known.toJS({ maxAliasCount: 0 }) ?? {}) as Record<string, unknown> & { states?: object };
    const fields = { ...header, ...names };
    for (const name of Object.keys(was)) if (name !== 'states' && !Object.hasOwn(fields, name)) changed.delete(name);
    for (const [name, value] of Object.entries(fields))
      if (!isSame(was[name], value) && !isEmpty(value)) changed.set(name, changed.createNode(value));
    const old: Record<string, unknown> = { ...was.states };
    for (const name of Object.keys(old)) if (!states.has(name)) changed.deleteIn(['states', name]);
    for (const [name, state] of states) {
      const source = toSource(state);
      if (!isSame(old[name], source)) changed.setIn(['states', name], toNode(changed, source));
    }
  });
  return printYaml(document);
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const isEmpty = (value: unknown) => typeof value === 'object' && Object.keys(value ?? {}).length === 0;
/** A state that fits one line is one. */
const longestLine = 100;

function toNode(document: Document, source: object) {
  const node = document.createNode(source);
  const isShort = JSON.stringify(source).length < longestLine;
  if (isMap(node)) node.flow = isShort;
  return node;
}

/** What the schema of each kind gives for a field that is not there. */
const defaults: Record<string, string> = { back: 'true', secret: 'false' };
const droppedEmpty = ['options', 'take', 'waive', 'when'];

/** A state as designers write it: without defaults, and without what parsing adds. */
function toSource(state: State): object {
  const { question, spec, action, ...fields } = { question: {}, spec: undefined, action: undefined, ...state };
  const own = { ...fields, ...question, ...(spec ?? (action !== undefined && { action })) };
  const kept = Object.entries(own).filter(
    ([name, value]) => defaults[name] !== String(value) && !(droppedEmpty.includes(name) && isEmpty(value)),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, plain[name]?.(value as never) ?? value]));
}

const plain: Record<string, (value: never) => unknown> = {
  options: (options: { key?: string }[]) =>
    options.map(({ key, ...option }, i) => (key === undefined || key === String(i + 1) ? option : { ...option, key })),
  outcomes: (outcomes: Record<string, { to: string; hint?: string }>) =>
    Object.fromEntries(
      Object.entries(outcomes).map(([name, { to, hint }]) => [name, hint === undefined ? to : { to, hint }]),
    ),
};
