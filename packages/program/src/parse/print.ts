import { type Document, parseDocument } from 'yaml';
import type { State } from '../model/menu.ts';
import { stateSchema } from '../states/states.ts';
import type { FileHeader } from './parse-menu.ts';

/** One layout for the editor, the import and the command line. */
export const printYaml = (document: Document): string => document.toString({ lineWidth: 0 });

/** Changes a YAML file. Comments and the order of everything else are kept. */
export function changeYaml(document: Document, change: (document: Document) => void): Document {
  const changed = document.clone() as Document;
  if (changed.contents === null) changed.contents = changed.createNode({}) as never;
  change(changed);
  return changed;
}

/**
 * A file of a program as YAML. What is the same in the text `before` keeps its layout and its comments.
 * @example
 * ```ts
 * import { printFile } from '@palaver/program/print';
 *
 * console.log(printFile({ states: new Map([['home', { kind: 'end', text: 'home.bye' }]]) }));
 * // states:
 * //   home: { kind: end, text: home.bye }
 * ```
 */
export function printFile(file: { header?: FileHeader; states: ReadonlyMap<string, State> }, before = ''): string {
  const { header = {}, states } = file;
  const known = parseDocument(before);
  const document = changeYaml(known, (changed) => {
    const was = (known.toJS({ maxAliasCount: 0 }) ?? {}) as Record<string, unknown> & { states?: object };
    for (const name of Object.keys(was)) if (name !== 'states' && !Object.hasOwn(header, name)) changed.delete(name);
    for (const [name, value] of Object.entries(header))
      if (!isSame(was[name], value) && !isEmpty(value)) changed.set(name, changed.createNode(value));
    const old: Record<string, unknown> = { ...was.states };
    for (const name of Object.keys(old)) if (!states.has(name)) changed.deleteIn(['states', name]);
    for (const [name, state] of states) {
      const source = toSource(state);
      const flow = JSON.stringify(source).length < longestLine;
      if (!isSame(old[name], source)) changed.setIn(['states', name], changed.createNode(source, { flow }));
    }
  });
  return printYaml(document);
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const isEmpty = (value: unknown) => typeof value === 'object' && Object.keys(value ?? {}).length === 0;
const longestLine = 100;

/** A state as designers write it: without what parsing adds. */
function toSource(state: State): object {
  const { question, spec, action, ...fields } = { question: {}, spec: undefined, action: undefined, ...state };
  const whole = { ...fields, ...question, ...(spec ?? (action !== undefined && { action })) };
  const parsed = stateSchema.safeParse(whole);
  if (!parsed.success) return whole;
  return shorten<object>(whole, (shorter) => isSame(stateSchema.safeParse(shorter).data, parsed.data));
}

/** Leaves out, at any depth, what makes no difference; a record of one field is written as the value where that means the same. */
function shorten<Part>(part: Part, means: (shorter: Part) => boolean): Part {
  if (typeof part !== 'object' || part === null) return part;
  let short: Part = part;
  for (const [name, value] of Object.entries(part)) {
    const { [name as keyof Part]: _, ...rest } = short;
    const withValue = (other: unknown): Part =>
      Array.isArray(short) ? (short.with(Number(name), other) as Part) : { ...short, [name]: other };
    if (!Array.isArray(part) && means(rest as Part)) short = rest as Part;
    else short = withValue(shorten(value, (shorter) => means(withValue(shorter))));
  }
  const [only, ...others] = Object.values(short as object) as Part[];
  return others.length === 0 && only !== undefined && means(only) ? only : short;
}
