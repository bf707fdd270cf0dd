import keywords from './keywords.json' with { type: 'json' };
import { type Path, type Raw, toRecord } from './read-program.ts';

export type ActionKeyword = keyof typeof keywords.actions;
export type StateKind = keyof typeof keywords.states;

interface Fields {
  title: string;
  draft?: Raw;
  texts?: Record<string, string>;
  offers?: Raw;
}
const actions: Record<string, Fields> = keywords.actions;
const states: Record<string, Fields> = keywords.states;

export const actionKeywords = Object.keys(keywords.actions) as ActionKeyword[];
export const recordKeywords: readonly string[] = actionKeywords.filter(
  (name) => actions[name]?.draft?.[name] === '{record}',
);
/** An action is added by its keyword. */
export const newKinds = (Object.keys(keywords.states) as StateKind[]).filter(
  (kind) => kind === 'action' || states[kind]?.draft,
);

interface NewState {
  kind: StateKind;
  keyword: ActionKeyword;
  chosen: Record<'name' | 'text' | 'to' | 'label' | 'record' | 'form', string>;
  toKey(key: string): string;
}

/** As few fields as the check accepts, each to be filled in. */
export function draftState({ kind, keyword, chosen, toKey }: NewState): { fields: Raw; texts: Record<string, string> } {
  const { draft = {}, texts = {} } = (kind === 'action' ? actions[keyword] : states[kind]) ?? {};
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name: keyof typeof chosen) => chosen[name]);
  const keys = new Map(Object.keys(texts).map((key) => [key, toKey(fill(key))]));
  return {
    fields: { kind, ...fillIn(draft, (text) => keys.get(text) ?? fill(text)) },
    texts: Object.fromEntries(Object.entries(texts).map(([key, text]) => [keys.get(key) ?? key, fill(text)])),
  };
}

function fillIn<T>(part: T, fill: (text: string) => string): T;
function fillIn(part: unknown, fill: (text: string) => string): unknown {
  if (typeof part === 'string') return fill(part);
  if (typeof part !== 'object') return part;
  if (Array.isArray(part)) return part.map((each) => fillIn(each, fill));
  return Object.fromEntries(Object.entries(toRecord(part)).map(([name, each]) => [fill(name), fillIn(each, fill)]));
}

const keywordOf = (raw: Raw) => actionKeywords.find((keyword) => Object.hasOwn(raw, keyword));
const offersOf = (raw: Raw) => {
  const keyword = keywordOf(raw);
  return keyword === undefined ? states[String(raw.kind)]?.offers : actions[keyword]?.offers;
};

export function withOptionalParts(raw: Raw): Raw {
  const parts = offersOf(raw);
  return parts ? fill(raw, parts) : raw;
}

export function isOptional(raw: Raw, path: Path): boolean {
  return path.reduce<unknown>((part, name) => toRecord(part)[name], offersOf(raw)) !== undefined;
}

/** What is given comes first, and counts. */
function fill(given: Raw, parts: Raw): Raw {
  const missing = Object.entries(parts).map(([name, part]): [string, unknown] => {
    if (!Object.hasOwn(given, name)) return [name, part];
    const isMap = Object.keys(toRecord(part)).length > 0;
    return [name, isMap ? fill(toRecord(given[name]), toRecord(part)) : given[name]];
  });
  return { ...given, ...Object.fromEntries(missing) };
}
