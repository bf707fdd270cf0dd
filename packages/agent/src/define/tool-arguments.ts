import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { asSchema, type FlexibleSchema, type Schema } from '@ai-sdk/provider-utils';
import { agentLimits } from '@palaver/contract';
import type { Awaitable, JsonSchema, Tool, ValueSchema } from './tool.ts';

type InputSchema = LanguageModelV4FunctionTool['inputSchema'];

type Standard = { validate(value: unknown): StandardResult | Promise<StandardResult> };
type StandardResult = { value: unknown; issues?: undefined } | { issues: readonly StandardIssue[] };
type StandardIssue = { path?: readonly (PropertyKey | { key: PropertyKey })[]; message: string };

type Checked = { value: unknown } | { error: string };

interface ReadSchema {
  json: JsonSchema;
  /** Without a wait where the schema needs none: the calls of a step begin in their order. */
  check(value: unknown): Awaitable<Checked>;
}

const read = new WeakMap<object, ReadSchema>();

function readSchema(schema: ValueSchema): ReadSchema {
  const known = read.get(schema);
  if (known) return known;
  const given = isJsonSchema(schema) ? undefined : asSchema(schema as FlexibleSchema);
  const json = given ? given.jsonSchema : schema;
  if (given && 'then' in json) throw new Error('it is made later; give the schema itself');
  // A copy has no `~standard`, by which zod marks also what it writes.
  const made = { json: { ...(json as JsonSchema) }, check: toCheck(schema, json as JsonSchema, given?.validate) };
  read.set(schema, made);
  return made;
}

function toCheck(schema: ValueSchema, json: JsonSchema, validate: Schema['validate']): ReadSchema['check'] {
  const { '~standard': standard } = schema as { '~standard'?: Standard };
  if (standard && !isJsonSchema(schema))
    return (value) => {
      const result = standard.validate(value);
      return 'then' in result ? result.then(toChecked) : toChecked(result);
    };
  if (!validate)
    return (value) => {
      const faults = new JsonSchemaReader().read(json, value);
      return faults.length > 0 ? { error: faults.join('; ') } : { value };
    };
  return async (value) => {
    const result = await validate(value);
    return result.success ? result : { error: `arguments: ${result.error.message}` };
  };
}

function toChecked(result: StandardResult): Checked {
  if (!result.issues) return { value: result.value };
  const toPath = (path: StandardIssue['path'] = []) =>
    path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  const faults = result.issues.map(({ path, message }) => `${toPath(path) || 'arguments'}: ${message}`);
  return { error: faults.slice(0, maxFaults).join('; ') };
}

/** A library's schema is a function, or has functions or symbols, which nothing that came as JSON has. */
function isJsonSchema(schema: ValueSchema): schema is JsonSchema {
  if (typeof schema === 'function') return false;
  const { '~standard': standard } = schema as { '~standard'?: Partial<Standard> };
  return typeof standard?.validate !== 'function' && Object.getOwnPropertySymbols(schema).length === 0;
}

export const toJsonSchema = (schema: ValueSchema): JsonSchema => readSchema(schema).json;

/** A tool as model providers are shown it. Throws where its schema has no form in JSON Schema. */
export function toDeclared(tool: Tool): { description: string; inputSchema: InputSchema } {
  const { description = '' } = tool;
  const text = typeof description === 'function' ? description({ context: undefined }) : description;
  return { description: text, inputSchema: { type: 'object', ...toJsonSchema(tool.inputSchema ?? {}) } };
}

export type CheckedArguments = { args: Record<string, unknown> } | { error: string };

const maxFaults = 10;

/** A schema that validates is the author's and is run whole. A JSON Schema may be a stranger's: it is read one step per value. */
export async function checkArguments(tool: Pick<Tool, 'inputSchema'>, args: unknown): Promise<CheckedArguments> {
  const tooLarge = checkSize(args);
  if (tooLarge) return { error: tooLarge };
  if (!isObject(args)) return { error: 'arguments: expected object' };
  const checked = await checkValue(tool.inputSchema ?? {}, args);
  return 'error' in checked ? checked : { args: checked.value as Record<string, unknown> };
}

export const checkValue = (schema: ValueSchema, value: unknown): Awaitable<Checked> => readSchema(schema).check(value);

/** Without recursion, which values nested deep enough would overflow. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

function checkSize(args: unknown): string | undefined {
  const { toolArgumentsDepth, toolArgumentsBytes } = agentLimits;
  if (isNestedDeeper(args, toolArgumentsDepth)) return `arguments: nested deeper than ${toolArgumentsDepth} levels`;
  const bytes = Buffer.byteLength(JSON.stringify(args) ?? '');
  return bytes > toolArgumentsBytes ? `arguments: larger than ${toolArgumentsBytes} bytes` : undefined;
}

/** Reads `type`, `required`, `properties` and `items` alone, each value once. Beyond the step limit everything is let through. */
class JsonSchemaReader {
  #steps: number = agentLimits.toolSchemaSteps;
  readonly #faults: string[] = [];

  read(schema: unknown, value: unknown, path = ''): string[] {
    if (!isObject(schema) || !this.#step()) return this.#faults;
    const type = asType(schema.type);
    if (type !== undefined && !isOfType(value, type)) this.#fault(path, `expected ${type}`);
    else if (Array.isArray(value))
      value.forEach((item, index) => void this.read(schema.items, item, `${path}.${index}`));
    else if (isObject(value)) this.#readObject(schema, value, path);
    return this.#faults;
  }

  #readObject(schema: JsonSchema, value: JsonSchema, path: string): void {
    const { properties, required } = schema;
    if (Array.isArray(required))
      for (const name of required) {
        if (!this.#step()) return;
        if (typeof name === 'string' && !Object.hasOwn(value, name)) this.#fault(`${path}.${name}`, 'is required');
      }
    if (!isObject(properties)) return;
    for (const [name, entry] of Object.entries(value))
      if (Object.hasOwn(properties, name)) this.read(properties[name], entry, `${path}.${name}`);
  }

  #step(): boolean {
    this.#steps -= 1;
    return this.#steps >= 0 && this.#faults.length < maxFaults;
  }

  #fault(path: string, what: string): void {
    this.#faults.push(`${path.slice(1, 200) || 'arguments'}: ${what}`);
  }
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const;
type JsonType = (typeof types)[number];

/** A list of types is an alternative and is not checked here. */
const asType = (type: unknown): JsonType | undefined => types.find((known) => known === type);

function isOfType(value: unknown, type: JsonType): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}
