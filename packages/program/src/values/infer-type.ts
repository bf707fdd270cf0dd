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
  if (names.size === 0) return shared;
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

const isNumber = (type: ResultType) => type === 'number' || type === 'integer' || type === 'dyn';
const isA = (type: ResultType, wanted: ResultType) => type === wanted || type === 'dyn';

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
    const type = scope.get(value.name);
    if (type === undefined)
      throw new ExpressionFault(`there is no value ${value.name}${suggest(value.name, scope.keys())}`);
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
    const names = [value.iterVar, value.iterVar2, value.accuVar].filter((name) => name !== '');
    const variables = names.map((name) => [name, 'dyn'] as const);
    const inner = extendScope(scope, variables);
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
    const dotted = scope.get(`${base.value.name}.${field}`);
    if (dotted) return dotted;
    const siblings = [...scope.keys()].filter((name) => name.startsWith(`${base.value.name}.`));
    if (siblings.length > 0) {
      const name = `${base.value.name}.${field}`;
      throw new ExpressionFault(`there is no value ${name}${suggest(name, siblings)}`);
    }
  }
  const type = inferType(operand, scope);
  if (type !== 'map' && type !== 'dyn') throw new ExpressionFault(`a ${sayType(type)} has no field ${field}`);
  return 'dyn';
}

function inferCall(name: string, args: ResultType[]): ResultType {
  const [one = 'dyn', other = 'dyn'] = args;
  const mismatch = () =>
    new ExpressionFault(`${sayType(one)} ${name.replaceAll('_', '')} ${sayType(other)} does not work`);
  if (name === '_&&_' || name === '_||_' || name === '!_') {
    if (!args.every((type) => isA(type, 'bool'))) throw mismatch();
    return 'bool';
  }
  if (/^_(==|!=|<=?|>=?)_$/.test(name)) {
    const fits = (isNumber(one) && isNumber(other)) || isA(one, other) || isA(other, one);
    if (!fits) throw mismatch();
    return 'bool';
  }
  if (/^_[-+*/%]_$/.test(name)) {
    if (isNumber(one) && isNumber(other)) {
      const known = [one, other].filter((type) => type !== 'dyn');
      if (known.length === 0) return 'dyn';
      return known.every((type) => type === 'integer') ? 'integer' : 'number';
    }
    if (name === '_+_' && isA(one, other) && one !== 'bool') return one;
    throw mismatch();
  }
  if (name === '-_') return one;
  if (name === '_?_:_') {
    if (!isA(one, 'bool')) throw new ExpressionFault('what comes before ? is not true or false');
    return args[1] === args[2] ? (args[1] ?? 'dyn') : 'dyn';
  }
  if (name === '@in') return 'bool';
  if (name.startsWith('@') || name.startsWith('_')) return 'dyn';
  const result = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (result === undefined)
    throw new ExpressionFault(`there is no function ${name}${suggest(name, Object.keys(functions))}`);
  return result;
}

function sayType(type: ResultType): string {
  return {
    string: 'text',
    number: 'number',
    integer: 'number',
    bool: 'yes or no',
    list: 'list',
    map: 'record',
    dyn: 'value',
  }[type];
}
