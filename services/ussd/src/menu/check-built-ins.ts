import { parseTotal, type Records, recordKindOf, totalsOf } from './built-in-actions.ts';
import { resultTypes } from './check-expression.ts';
import { type CheckedValues, expressionsOf } from './check-values.ts';
import type { Fault } from './fault.ts';
import { placeholdersOf } from './locales.ts';
import type { PlacedState } from './parse-menu.ts';
import { suggest } from './suggest.ts';
import { targetsOf } from './targets.ts';

/** What the service adds to every claim. */
const claimFields = ['source', 'collection', 'filedAt'];

/** The caller as a whole, or any part of them that a claim cannot hold. */
const callerPattern = /\bcaller\b(?!\.(?:language|authenticated)\b)/;

/** With a value at most before a dot and two names of its own: a caller's answer must not choose who gets the secrets. */
const namesServer = /^https?:\/\/(?:[^/?#{}@]*|[^/?#@]*\}(?:\.[\w-]+){2,}(?::\d+)?)(?:[/?#]|$)/;

export interface Declared {
  records: Records;
  secrets: readonly string[];
}

/** Records, fields, types and secrets that built-in actions name. */
export function checkBuiltIns(
  states: ReadonlyMap<string, PlacedState>,
  values: CheckedValues,
  declared: Declared,
): Fault[] {
  return [...states].flatMap(([name, placed]) => checkState(name, placed, values, declared));
}

/** A list from `find` holds some records only, so a sum of it may be wrong. */
export function warnOfSums(states: ReadonlyMap<string, PlacedState>, { expressions }: CheckedValues): Fault[] {
  const specs = Array.from(states.values(), ({ state }) => (state.kind === 'action' ? state.spec : undefined));
  const lists = specs.flatMap((spec) => (spec && 'find' in spec ? [spec] : []));
  return [...states].flatMap(([name, { state, file, lineOf, inherited }]) =>
    state.kind !== 'set' || inherited
      ? []
      : Object.entries(state.values).flatMap(([value, source]) => {
          const { names = [] } = expressions.get(source) ?? {};
          const found = /\bsum\(/.test(source) ? lists.find(({ save }) => names.includes(save)) : undefined;
          if (!found) return [];
          const message = `${source} adds up at most ${found.limit} records; \`total: ${found.find}\` adds up all of them`;
          return [{ file, line: lineOf('values', value), state: name, message }];
        }),
  );
}

/** Calls at the same time all pass a condition over a total that each of them has read before it writes. */
export function warnOfUnchecked(
  states: ReadonlyMap<string, PlacedState>,
  { expressions }: CheckedValues,
  start: string,
): Fault[] {
  const specOf = (name: string) => {
    const state = states.get(name)?.state;
    return state?.kind === 'action' ? state.spec : undefined;
  };
  const totals = [...states.keys()].flatMap((name) => {
    const spec = specOf(name);
    return spec && 'total' in spec ? [spec] : [];
  });
  const warnings = new Map<string, Fault>();
  for (const { state, inherited } of states.values()) {
    if (inherited || state.kind === 'action') continue;
    const conditions = [...expressionsOf(state)].filter(({ wanted }) => wanted === 'bool');
    const names = conditions.flatMap(({ source }) => expressions.get(source)?.names ?? []);
    for (const { total, save } of totals) {
      const value = Object.keys(save).find((saved) => names.includes(saved));
      if (value === undefined) continue;
      const follow = new Set(targetsOf(state).map(({ to }) => to));
      for (const name of follow) {
        const [placed, spec] = [states.get(name), specOf(name)];
        if (!placed || name === start || (spec && 'total' in spec)) continue;
        if (spec && 'store' in spec && spec.store === total && !spec.check)
          warnings.set(name, {
            file: placed.file,
            line: placed.lineOf('store'),
            state: name,
            message: `calls at the same time may have read the same \`${value}\` before; a \`check\` of the store looks at it again`,
          });
        for (const { to } of targetsOf(placed.state)) follow.add(to);
      }
    }
  }
  return [...warnings.values()];
}

function checkState(
  name: string,
  { state, file, lineOf }: PlacedState,
  { types, expressions, isOpen }: CheckedValues,
  { records, secrets }: Declared,
): Fault[] {
  if (state.kind !== 'action' || !state.spec) return [];
  const { spec } = state;
  const faults: Fault[] = [];
  const say = (path: PropertyKey[], message: string) =>
    faults.push({ file, line: lineOf(...path), state: name, message });
  const checkAddress = (keyword: string, address: string) => {
    for (const placeholder of placeholdersOf(address)) {
      if (!isOpen && !types.has(placeholder))
        say([keyword], `there is no value {${placeholder}}${suggest(placeholder, types.keys())}`);
    }
  };
  if ('sms' in spec || 'assistant' in spec) return faults;
  if ('protocol' in spec) {
    checkAddress('protocol', spec.protocol);
    return faults;
  }
  if ('http' in spec) {
    const { get, post, headers } = spec.http;
    if ((get === undefined) === (post === undefined)) say(['http'], 'must have exactly one of get and post');
    const address = get ?? post ?? '';
    checkAddress('http', address);
    if (address !== '' && !namesServer.test(address))
      say(
        ['http'],
        'the address must name its server, as https://prices.example/v1/{market} or https://{market}.prices.example',
      );
    for (const [header, template] of Object.entries(headers)) {
      for (const placeholder of placeholdersOf(template)) {
        const secret = placeholder.replace(/^secrets\./, '');
        if (secret === placeholder || !secrets.includes(secret))
          say(['http', 'headers', header], `{${placeholder}} is not among the secrets of program.yaml`);
      }
    }
    return faults;
  }
  if ('claim' in spec) {
    for (const [field, source] of Object.entries(spec.fields)) {
      const names = expressions.get(source)?.names ?? [];
      if (claimFields.includes(field))
        say(['fields', field], `\`${field}\` is reserved: the service adds it to every claim`);
      const namesCaller = names.includes('caller') && callerPattern.test(source);
      if (namesCaller || names.some((value) => types.get(value) === 'phone'))
        say(['fields', field], 'a claim holds no phone number');
    }
    return faults;
  }
  const kind = recordKindOf(spec) ?? '';
  const fields = Object.hasOwn(records, kind) ? records[kind] : undefined;
  if (!fields) {
    say([state.action], `program.yaml declares no record ${kind}${suggest(kind, Object.keys(records))}`);
    return faults;
  }
  const typeOf = (field: string, path: PropertyKey[]) => {
    const type = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (!type) say(path, `the record ${kind} has no field ${field}${suggest(field, Object.keys(fields))}`);
    return type;
  };
  const { totals, path } = totalsOf(spec);
  for (const [value, source] of Object.entries(totals?.save ?? {})) {
    const total = parseTotal(source);
    const type = 'field' in total ? typeOf(total.field, [...path, value]) : undefined;
    if (total.compute === 'sum' && type && type !== 'integer' && type !== 'decimal')
      say([...path, value], `${source} needs a field of numbers, and its type is ${type}`);
  }
  for (const [field, source] of Object.entries('fields' in spec ? spec.fields : {})) {
    const type = typeOf(field, ['fields', field]);
    if (!type) continue;
    const given = expressions.get(source)?.type ?? 'dyn';
    const wanted = resultTypes[type];
    const isConverted = (wanted === 'number' && given === 'integer') || (type === 'text' && given === 'list');
    if (given !== 'dyn' && given !== wanted && !isConverted)
      say(['fields', field], `${source} does not fit the type ${type} of ${field}`);
  }
  return faults;
}
