import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { suggest } from './fault.ts';
import type { ValueType } from './value-types.ts';

export type ResultType = 'string' | 'number' | 'integer' | 'bool' | 'list' | 'map' | 'dyn';

export interface Scope {
  get(name: string): ResultType | undefined;
  keys(): Iterable<string>;
}

export function extendScope(shared: Scope, own: Iterable<readonly [string, ResultType]>): Scope {
  const names = new Map(own);
  return {
    get: (name) => names.get(name) ?? shared.get(name),
    *keys() {
      yield* names.keys();
      yield* shared.keys();
    },
  };
}

export class ExpressionFault extends Error {
  override readonly name = 'ExpressionFault';
}

export const resultTypes: Record<ValueType, ResultType> = {
  text: 'string',
  integer: 'integer',
  decimal: 'number',
  date: 'string',
  phone: 'string',
  choice: 'string',
  choices: 'list',
  boolean: 'bool',
  list: 'list',
  any: 'dyn',
};

const words: Record<ResultType, string> = {
  string: 'text',
  number: 'number',
  integer: 'number',
  bool: 'yes or no',
  list: 'list',
  map: 'record',
  dyn: 'value',
};

const isA = (type: ResultType, ...wanted: ResultType[]) => type === 'dyn' || wanted.includes(type);
const isNumber = (type: ResultType) => isA(type, 'number', 'integer');

const functions: Record<string, ResultType> = {
  size: 'integer',
  int: 'integer',
  double: 'number',
  string: 'string',
  addDays: 'string',
  daysBetween: 'integer',
  contains: 'bool',
  startsWith: 'bool',
  endsWith: 'bool',
  matches: 'bool',
  sum: 'number',
  round: 'number',
};

export function inferType(expr: Expr | undefined, scope: Scope): ResultType {
  if (!expr) return 'dyn';
  const { case: kind, value } = expr.exprKind;
  if (kind === 'constExpr') return constTypes[value.constantKind.case ?? ''] ?? 'dyn';
  if (kind === 'identExpr') {
    const { name } = value;
    const type = scope.get(name);
    if (type === undefined) throw new ExpressionFault(`there is no value ${name}${suggest(name, scope.keys())}`);
    return type;
  }
  if (kind === 'selectExpr') return inferSelect(value, scope);
  if (kind === 'listExpr') {
    for (const element of value.elements) inferType(element, scope);
    return 'list';
  }
  if (kind === 'structExpr') return 'map';
  if (kind === 'comprehensionExpr') {
    inferType(value.iterRange, scope);
    const names = [value.iterVar, value.iterVar2, value.accuVar].map((name) => [name, 'dyn'] as const);
    const inner = extendScope(scope, names);
    inferType(value.loopStep, inner);
    return inferType(value.result, inner);
  }
  if (kind === 'callExpr') {
    const args = [...(value.target ? [value.target] : []), ...value.args].map((arg) => inferType(arg, scope));
    return inferCall(value.function, args);
  }
  return 'dyn';
}

const constTypes: Record<string, ResultType> = {
  stringValue: 'string',
  int64Value: 'integer',
  uint64Value: 'integer',
  doubleValue: 'number',
  boolValue: 'bool',
};

function inferSelect({ operand, field }: { operand?: Expr; field: string }, scope: Scope): ResultType {
  const base = operand?.exprKind;
  if (base?.case === 'identExpr') {
    const name = `${base.value.name}.${field}`;
    const dotted = scope.get(name);
    if (dotted) return dotted;
    const siblings = [...scope.keys()].filter((other) => other.startsWith(`${base.value.name}.`));
    if (siblings.length > 0) throw new ExpressionFault(`there is no value ${name}${suggest(name, siblings)}`);
  }
  const type = inferType(operand, scope);
  if (!isA(type, 'map')) throw new ExpressionFault(`a ${words[type]} has no field ${field}`);
  return 'dyn';
}

function inferCall(name: string, args: ResultType[]): ResultType {
  const [one = 'dyn', other = 'dyn'] = args;
  const both = isNumber(one) && isNumber(other);
  const given = (type: ResultType, fits: boolean) => {
    if (fits) return type;
    const operator = name.replaceAll('_', '');
    throw new ExpressionFault(`${words[one]} ${operator} ${words[other]} does not work`);
  };
  const areConditions = args.every((type) => isA(type, 'bool'));
  if (['_&&_', '_||_', '!_'].includes(name)) return given('bool', areConditions);
  if (/^_(==|!=|<=?|>=?)_$/.test(name)) return given('bool', both || isA(one, other) || isA(other, one));
  if (/^_[-+*/%]_$/.test(name)) {
    if (!both) return given(one, name === '_+_' && isA(one, other) && one !== 'bool');
    if (args.includes('number')) return 'number';
    return args.includes('integer') ? 'integer' : 'dyn';
  }
  if (name === '-_') return one;
  if (name === '_?_:_') {
    if (!isA(one, 'bool')) throw new ExpressionFault('what comes before ? is not true or false');
    return args[1] === args[2] ? (args[1] ?? 'dyn') : 'dyn';
  }
  if (name === '@in') return 'bool';
  if (/^[@_]/.test(name)) return 'dyn';
  const result = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (result === undefined)
    throw new ExpressionFault(`there is no function ${name}${suggest(name, Object.keys(functions))}`);
  return result;
}
