import { builtInExpressions, type Records, recordKindOf } from './built-in-actions.ts';
import { ExpressionFault, extendScope, type ResultType, resultTypes, type Scope } from './check-expression.ts';
import type { DataFile } from './data-files.ts';
import { compileExpression, type Expression } from './expressions.ts';
import type { Fault } from './fault.ts';
import { isCondition, type Registry, type State, signatureOf } from './menu.ts';
import type { PlacedState } from './parse-menu.ts';
import { suggest } from './suggest.ts';
import type { ValueType } from './value-types.ts';

export interface CheckedValues {
  types: Map<string, ValueType>;
  expressions: Map<string, Expression>;
  /** An action that does not declare its values may give any. */
  isOpen: boolean;
  faults: Fault[];
}

/** Names that every expression can use. */
const always: readonly (readonly [string, ResultType])[] = [
  ['today', 'string'],
  ['caller', 'map'],
  ['caller.phone', 'string'],
  ['caller.language', 'string'],
  ['caller.authenticated', 'bool'],
];

/** Which values there are, of which type, and every expression of the menu, compiled. */
export function checkValues(
  states: ReadonlyMap<string, PlacedState>,
  registry: Registry,
  { data, records }: { data: ReadonlyMap<string, DataFile>; records: Records },
): CheckedValues {
  const types = new Map<string, ValueType>();
  const give = (name: string, type: ValueType) => {
    const known = types.get(name);
    types.set(name, known === undefined || known === type ? type : 'any');
  };
  let isOpen = false;
  for (const { state } of states.values()) {
    for (const [name, type] of givenBy(state, registry, data)) give(name, type);
    if (state.kind === 'action' && !signatureOf(state, registry)?.values) isOpen = true;
  }
  // A computed value may be computed from itself and from others, in any order: unknown at first, known in the second round.
  for (const { state } of states.values())
    if (state.kind === 'set')
      for (const name of Object.keys(state.values)) if (!types.has(name)) types.set(name, 'any');
  const checked: CheckedValues = { types, expressions: new Map(), isOpen, faults: [] };
  for (let round = 0; round < 2; round++) {
    checked.faults = Array.from(states).flatMap(([name, placed]) => checkColumns(name, placed, data));
    for (const [name, placed] of states)
      checkExpressions(name, placed, checked, () => rowFields(placed.state, data, records));
  }
  return checked;
}

function* givenBy(
  state: State,
  registry: Registry,
  data: ReadonlyMap<string, DataFile>,
): Generator<[string, ValueType]> {
  if (state.kind === 'menu' && state.from) {
    const columns = data.get(state.from.csv ?? state.from.json ?? '')?.columns;
    for (const [name, field] of Object.entries(state.from.save)) yield [name, columns?.get(field) ?? 'any'];
  }
  if (state.kind === 'prompt' && !state.secret)
    yield [state.save, state.question?.type ?? registry.validators[state.validator ?? '']?.type ?? 'text'];
  if (state.kind === 'menu' || state.kind === 'page')
    for (const { set = {} } of state.options) for (const name of Object.keys(set)) yield [name, 'text'];
  if (state.kind === 'each') yield [state.as, 'any'];
  if (state.kind === 'form') for (const name of Object.keys(state.take)) yield [name, 'any'];
  if (state.kind === 'action') yield* Object.entries(signatureOf(state, registry)?.values ?? {});
}

function checkColumns(
  name: string,
  { state, file, lineOf }: PlacedState,
  data: ReadonlyMap<string, DataFile>,
): Fault[] {
  if (state.kind !== 'menu' || !state.from || state.from.list !== undefined) return [];
  const { csv, json, text, save } = state.from;
  const path = csv ?? json ?? '';
  const columns = data.get(path)?.columns;
  const say = (field: string, message: string) => ({ file, line: lineOf('from', field), state: name, message });
  if (!columns) return [say(csv ? 'csv' : 'json', `there is no file ${path}${suggest(path, data.keys())}`)];
  return [text, ...Object.values(save)]
    .filter((column) => !columns.has(column))
    .map((column) => say('text', `${path} has no column ${column}${suggest(column, columns.keys())}`));
}

/** What `row` has: the columns of a file, or the fields of a record. Nothing is known of the items of other lists. */
function* rowFields(
  state: State,
  data: ReadonlyMap<string, DataFile>,
  records: Records,
): Generator<[string, ResultType]> {
  const spec = state.kind === 'action' ? state.spec : undefined;
  const kind = spec && recordKindOf(spec);
  const fields = kind !== undefined && Object.hasOwn(records, kind) ? records[kind] : undefined;
  const columns =
    state.kind === 'menu' && state.from ? data.get(state.from.csv ?? state.from.json ?? '')?.columns : undefined;
  if (fields) yield* ['id', 'phone', 'date'].map((name): [string, ResultType] => [`row.${name}`, 'string']);
  for (const [name, type] of columns ?? Object.entries(fields ?? {})) yield [`row.${name}`, resultTypes[type]];
}

function checkExpressions(
  name: string,
  { state, file, lineOf }: PlacedState,
  checked: CheckedValues,
  fieldsOfRow: () => Iterable<readonly [string, ResultType]>,
): void {
  for (const { source, path, wanted, answer, hasRow, hasStatus } of expressionsOf(state)) {
    const scope = extendScope(toScope(checked.types), [
      ...(answer === undefined ? [] : [['answer', resultTypes[answer]] as const]),
      ...(hasRow ? [['row', 'map'] as const, ...fieldsOfRow()] : []),
      ...(hasStatus ? [['status', 'integer'] as const] : []),
    ]);
    const say = (message: string) =>
      checked.faults.push({ file, line: lineOf(...path), state: name, message: `${source}: ${message}` });
    try {
      const expression = compileExpression(source, scope);
      checked.expressions.set(source, expression);
      if (wanted && expression.type !== wanted && expression.type !== 'dyn')
        say(wanted === 'bool' ? 'is not a condition that is true or false' : 'is not a list');
      if (state.kind === 'set') checked.types.set(String(path.at(-1)), toValueType(expression.type));
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      // An own action may give any value, and adds nothing to a caller or a row.
      if (!checked.isOpen || !/^there is no value \w+(?: |$)/.test(error.message)) say(error.message);
      else checked.expressions.set(source, compileExpression(source, openScope(scope)));
    }
  }
}

const alwaysThere = new Map(always);

/** What all expressions of a menu can use. A value of the menu hides a name of the same spelling. */
function toScope(types: ReadonlyMap<string, ValueType>): Scope {
  return {
    get(name) {
      const type = types.get(name);
      return type === undefined ? alwaysThere.get(name) : resultTypes[type];
    },
    *keys() {
      yield* alwaysThere.keys();
      yield* types.keys();
    },
  };
}

/** Accepts every name. */
function openScope(scope: Scope): Scope {
  return {
    get: (name) => scope.get(name) ?? (name.includes('.') ? undefined : 'dyn'),
    keys: () => scope.keys(),
  };
}

function toValueType(type: ResultType): ValueType {
  const types: Record<ResultType, ValueType> = {
    string: 'text',
    number: 'decimal',
    integer: 'integer',
    bool: 'boolean',
    list: 'list',
    map: 'any',
    dyn: 'any',
  };
  return types[type];
}

interface Found {
  source: string;
  path: PropertyKey[];
  wanted?: 'bool' | 'list';
  answer?: ValueType;
  /** It can use `row`. */
  hasRow?: boolean;
  /** It can use `status`, of an answer over HTTP. */
  hasStatus?: boolean;
}

/** Every expression of a state. */
export function* expressionsOf(state: State): Generator<Found> {
  if (state.kind === 'menu' || state.kind === 'page') {
    for (const [i, { when }] of state.options.entries())
      if (when !== undefined && !isCondition(when))
        yield { source: when, path: ['options', i, 'when'], wanted: 'bool' };
  }
  if (state.kind === 'menu' && state.from) {
    const { list, where } = state.from;
    if (list !== undefined) yield { source: list, path: ['from', 'list'], wanted: 'list' };
    if (where !== undefined) yield { source: where, path: ['from', 'where'], wanted: 'bool', hasRow: true };
  }
  if (state.kind !== 'branch' && 'when' in state && state.when !== undefined)
    yield { source: state.when, path: ['when'], wanted: 'bool' };
  if (state.kind === 'prompt') {
    const { check, type, options = [] } = state.question ?? {};
    for (const [i, { when }] of options.entries())
      if (when !== undefined) yield { source: when, path: ['options', i, 'when'], wanted: 'bool' };
    if (check && type) yield { source: check.that, path: ['check', 'that'], wanted: 'bool', answer: type };
  }
  if (state.kind === 'action' && state.spec) yield* builtInExpressions(state.spec);
  if (state.kind === 'branch')
    for (const [i, { that }] of state.when.entries()) yield { source: that, path: ['when', i, 'that'], wanted: 'bool' };
  if (state.kind === 'set')
    for (const [name, source] of Object.entries(state.values)) yield { source, path: ['values', name] };
  if (state.kind === 'each') yield { source: state.list, path: ['list'], wanted: 'list' };
}
