import { type Path, type Raw, toRecord } from './read-program.ts';

/** What an action without code can do, by its keyword in the file. */
export const actionKeywords = [
  'sms',
  'store',
  'find',
  'total',
  'update',
  'http',
  'assistant',
  'protocol',
  'claim',
] as const;
export type ActionKeyword = (typeof actionKeywords)[number];

/** Those that concern records, which program.yaml declares. */
export const recordKeywords: readonly string[] = ['store', 'find', 'total', 'update'] satisfies ActionKeyword[];

interface NewAction {
  name: string;
  /** The kind of records that it concerns. */
  record: string;
  /** Where every outcome leads until it is connected. */
  to: string;
}

/** The fields of a new action: as few as the service accepts, each to be filled in. */
export function toActionFields(keyword: ActionKeyword, { name, record, to }: NewAction): Raw {
  const leads = (...outcomes: string[]) => ({ outcomes: Object.fromEntries(outcomes.map((outcome) => [outcome, to])) });
  switch (keyword) {
    case 'sms':
      return { sms: { text: `${name}.text` }, ...leads('queued', 'refused') };
    case 'store':
      return { store: record, fields: {}, ...leads('stored') };
    case 'find':
      return { find: record, save: `${name}Rows`, ...leads('found', 'none') };
    case 'total':
      return { total: record, save: { [`${name}Count`]: 'count()' }, ...leads('found', 'none') };
    case 'update':
      return { update: record, where: 'true', fields: {}, ...leads('updated', 'none') };
    case 'http':
      return { http: { get: 'https://example.org/' }, take: {}, ...leads('ok', 'missing', 'failed') };
    case 'assistant':
      return { assistant: '"What is new?"', save: 'answer', ...leads('answered', 'waiting', 'unavailable') };
    case 'protocol':
      return { protocol: '/cosmos/bank/v1beta1/supply', take: {}, ...leads('ok', 'missing', 'failed') };
    case 'claim':
      return { claim: name, fields: {}, ...leads('filed', 'refused', 'unavailable') };
  }
}

/** Parts that an action need not have, offered as empty fields and lists. */
const optional: Partial<Record<ActionKeyword, Raw>> = {
  sms: { sms: { number: '' } },
  find: { of: 'caller', where: '', limit: '', more: '' },
  total: { of: 'caller', where: '' },
  http: { http: { headers: {}, body: {}, timeout: '' }, take: {}, when: [] },
  protocol: { take: {}, when: [] },
  claim: { collection: '' },
};

const keywordOf = (raw: Raw) => actionKeywords.find((keyword) => Object.hasOwn(raw, keyword));

export function withOptionalParts(raw: Raw): Raw {
  const keyword = keywordOf(raw);
  const parts = keyword && optional[keyword];
  if (!parts) return raw;
  const all = fill(raw, parts);
  const inner = toRecord(parts[keyword]);
  return Object.keys(inner).length > 0 ? { ...all, [keyword]: fill(toRecord(raw[keyword]), inner) } : all;
}

/** Whether an action may be without this part. */
export function isOptional(raw: Raw, path: Path): boolean {
  const keyword = keywordOf(raw);
  const parts: unknown = keyword && optional[keyword];
  return path.reduce((part, name) => toRecord(part)[name], parts) !== undefined;
}

/** What is given comes first, and counts. */
const fill = (given: Raw, parts: Raw): Raw => ({ ...given, ...parts, ...given });
