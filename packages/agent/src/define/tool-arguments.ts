import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { agentLimits } from '@palaver/contract';
import { z } from 'zod';
import type { JsonSchema, Tool } from './tool.ts';

type InputSchema = LanguageModelV4FunctionTool['inputSchema'];

const made = new WeakMap<object, InputSchema>();

/** The arguments of a tool as model providers want them: JSON Schema of an object. Throws where zod cannot write it. */
export function toInputSchema({ input }: Tool): InputSchema {
  if (!(input instanceof z.ZodType)) return input;
  const known = made.get(input) ?? (z.toJSONSchema(input, { io: 'input' }) as InputSchema);
  made.set(input, known);
  return known;
}

export type CheckedArguments = { args: Record<string, unknown> } | { error: string };

const maxFaults = 10;
/** What an empty object takes, and its place in another. */
const valueSize = 100;

/** A zod schema is the author's and is run whole. A JSON Schema may be a stranger's: it is read one step per value. */
export function checkArguments({ input }: Tool, args: unknown): CheckedArguments {
  const tooLarge = checkSize(args);
  if (tooLarge) return { error: tooLarge };
  if (!(input instanceof z.ZodType)) return checkByJsonSchema(input, args);
  const result = input.safeParse(args);
  if (result.success) return { args: result.data as Record<string, unknown> };
  const faults = result.error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
  return { error: faults.slice(0, maxFaults).join('; ') };
}

/** Without recursion, which values nested deep enough would overflow. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

/** About the bytes that a value takes in memory, where texts may have two for each character. */
export function sizeOf(value: unknown): number {
  let size = 0;
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    size += valueSize;
    if (typeof next === 'string') size += 2 * next.length;
    else if (isContainer(next))
      for (const [name, inner] of Object.entries(next)) {
        if (!Array.isArray(next)) size += 2 * name.length;
        left.push(inner);
      }
  }
  return size;
}

function checkSize(args: unknown): string | undefined {
  const { toolArgumentsDepth, toolArgumentsBytes } = agentLimits;
  if (isNestedDeeper(args, toolArgumentsDepth)) return `arguments: nested deeper than ${toolArgumentsDepth} levels`;
  const bytes = Buffer.byteLength(JSON.stringify(args) ?? '');
  return bytes > toolArgumentsBytes ? `arguments: larger than ${toolArgumentsBytes} bytes` : undefined;
}

function checkByJsonSchema(schema: JsonSchema, args: unknown): CheckedArguments {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return { error: 'arguments: expected object' };
  const faults = new JsonSchemaReader().read(schema, args);
  return faults.length > 0 ? { error: faults.join('; ') } : { args: args as Record<string, unknown> };
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

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const;
type JsonType = (typeof types)[number];

/** A list of types is an alternative and is not checked here. */
function asType(type: unknown): JsonType | undefined {
  return types.find((known) => known === type);
}

function isOfType(value: unknown, type: JsonType): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}
