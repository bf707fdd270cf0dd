import type { State } from '../model/menu.ts';
import type { PlacedState, PlacedStates } from '../parse/parse-menu.ts';
import { signatureOf } from '../states/action.ts';
import type { Declared } from '../states/kind.ts';
import { expressionsOf, kindOf } from '../states/states.ts';
import { compileExpression, type Expression } from '../values/expressions.ts';
import type { Fault } from '../values/fault.ts';
import { ExpressionFault, extendScope, type ResultType, resultTypes } from '../values/infer-type.ts';
import type { ValueType } from '../values/value-types.ts';

const alwaysThere: readonly [string, ResultType][] = [
  ['today', 'string'],
  ['caller', 'map'],
  ['caller.phone', 'string'],
  ['caller.language', 'string'],
  ['caller.authenticated', 'bool'],
];

export function checkValues(states: PlacedStates, declared: Declared) {
  const types = new Map<string, ValueType>();
  const computed = new Set<string>();
  let isOpen = false;
  for (const { state } of states.values()) {
    for (const [name, type] of kindOf(state).gives?.(state, declared) ?? []) {
      const known = types.get(name);
      if (type === 'computed') computed.add(name);
      else if (type !== 'secret') types.set(name, known === undefined || known === type ? type : 'any');
    }
    if (state.kind === 'action' && !signatureOf(state, declared.registry)?.values) isOpen = true;
  }
  // A computed value may be computed from itself and from others, in any order: unknown at first, known in the second round.
  for (const name of computed) if (!types.has(name)) types.set(name, 'any');
  // A value of the menu hides a name of the same spelling.
  const scope = new Map([...alwaysThere, ...Array.from(types, ([name, type]) => [name, resultTypes[type]] as const)]);
  const give = (name: string, type: ValueType) => {
    types.set(name, type);
    scope.set(name, resultTypes[type]);
  };
  const checked = { types, scope, give, expressions: new Map<string, Expression>(), isOpen, faults: [] as Fault[] };
  for (let round = 0; round < 2; round++) {
    checked.faults = [];
    for (const placed of states.values()) checkExpressions(placed, checked, declared);
  }
  return checked;
}

type Checked = ReturnType<typeof checkValues>;

function checkExpressions({ state, fault }: PlacedState, checked: Checked, declared: Declared): void {
  for (const { value: source, path, wanted, sees } of expressionsOf(state)) {
    const scope = extendScope(checked.scope, sees ? namesSeen[sees](state, declared) : []);
    const say = (message: string) => checked.faults.push(fault(path, `${source}: ${message}`));
    try {
      const expression = compileExpression(source, scope);
      checked.expressions.set(source, expression);
      if (wanted && expression.type !== wanted && expression.type !== 'dyn') say(misfits[wanted]);
      if (state.kind === 'set') checked.give(String(path.at(-1)), valueTypeOf[expression.type]);
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      const open = (name: string) => scope.get(name) ?? (name.includes('.') ? undefined : 'dyn');
      // An action of the host's own may give any value, but no field of `caller` or `row`.
      if (!checked.isOpen || !/^there is no value \w+(?: |$)/.test(error.message)) say(error.message);
      else checked.expressions.set(source, compileExpression(source, { get: open, keys: () => scope.keys() }));
    }
  }
}

const namesSeen: Record<'answer' | 'row' | 'status', (state: State, declared: Declared) => [string, ResultType][]> = {
  answer: (state) => (state.kind === 'prompt' && state.question ? [['answer', resultTypes[state.question.type]]] : []),
  row(state, declared) {
    const fields = [...(kindOf(state).rowFields?.(state, declared) ?? [])];
    return [['row', 'map'], ...fields.map(([name, type]): [string, ResultType] => [`row.${name}`, resultTypes[type]])];
  },
  status: () => [['status', 'integer']],
};

const misfits = {
  bool: 'is not a condition that is true or false, such as amount > 5',
  list: 'is not a list, such as the one that a `find` saves',
};

const valueTypeOf: Record<ResultType, ValueType> = {
  string: 'text',
  number: 'decimal',
  integer: 'integer',
  bool: 'boolean',
  list: 'list',
  map: 'any',
  dyn: 'any',
};
