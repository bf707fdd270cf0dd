import { asRecord } from './oracle-error.ts';

// Zod's schemas of any version 3 or 4 are known only by their interfaces: the library brings no zod of its own.

interface SchemaIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

type ValidationResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<SchemaIssue> };

/** A zod schema of version 3 or 4, or any other Standard Schema. */
export type Schema<Output = unknown> = StandardSchema<Output> | OlderZodSchema<Output>;

interface StandardSchema<Output> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => ValidationResult<Output> | Promise<ValidationResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** Versions before 3.24 do not implement Standard Schema. */
interface OlderZodSchema<Output> {
  readonly _output: Output;
  safeParseAsync(
    value: unknown,
  ): Promise<
    { success: true; data: Output } | { success: false; error: { readonly issues: ReadonlyArray<SchemaIssue> } }
  >;
}

export type SchemaOutput<S> = S extends {
  readonly '~standard': { readonly types?: { readonly output: infer Output } | undefined };
}
  ? Output
  : S extends { readonly _output: infer Output }
    ? Output
    : unknown;

export async function parseWith<Output>(schema: Schema<Output>, value: unknown): Promise<Output> {
  const result = await validate(schema, value);
  if (!result.issues) return result.value;
  const faults = result.issues.map(({ message, path = [] }) => {
    const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return at ? `${at}: ${message}` : message;
  });
  throw new TypeError(`The arguments are not valid: ${faults.join('; ')}`);
}

async function validate<Output>(schema: Schema<Output>, value: unknown): Promise<ValidationResult<Output>> {
  if ('~standard' in schema) return schema['~standard'].validate(value);
  const parsed = await schema.safeParseAsync(value);
  return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues };
}

export type JsonSchema = Record<string, unknown>;

// biome-ignore lint/suspicious/noExplicitAny: the insides of schemas of two zod versions, read with care.
type Def = any;

/** Zod before 4.2 is read here. What JSON Schema cannot say is left open: the page checks arguments with the schema itself. */
export function toJsonSchema(schema: Schema): JsonSchema {
  const own = (schema as Def)['~standard']?.jsonSchema?.input;
  if (typeof own === 'function') {
    const { $schema: _, ...json } = own({ target: 'draft-2020-12', libraryOptions: { unrepresentable: 'any' } });
    return json;
  }
  const json = convert(schema);
  return json.type === 'object' ? json : { type: 'object', ...json };
}

/** `ZodString` in version 3, `string` in version 4. */
function kindOf(def: Def): string {
  return String(
    def.type && typeof def.type === 'string' ? def.type : (def.typeName ?? '').replace(/^Zod/, ''),
  ).toLowerCase();
}

function convert(schema: Def): JsonSchema {
  const def = schema?._zod?.def ?? schema?._def ?? {};
  const kind = kindOf(def);
  const convertKind = wrappers.includes(kind) ? inner : converters[kind];
  const json = convertKind ? convertKind(def, schema) : {};
  const description = schema?.description;
  return typeof description === 'string' ? { ...json, description } : json;
}

const wrappers = ['prefault', 'optional', 'nonoptional', 'catch', 'readonly', 'effects', 'pipe', 'pipeline'];

const inner = (def: Def) => convert(def.innerType ?? def.schema ?? def.in ?? def.type);

const converters: Record<string, (def: Def, schema: Def) => JsonSchema> = {
  string: (def, schema) => ({ type: 'string', ...stringLimits(def, schema) }),
  number: (def, schema) => ({ type: isInteger(def, schema) ? 'integer' : 'number', ...numberLimits(schema) }),
  boolean: () => ({ type: 'boolean' }),
  null: () => ({ type: 'null' }),
  literal: (def) => (def.values ? toEnum([...def.values]) : { ...toType([def.value]), const: def.value }),
  enum: (def) => toEnum(def.entries ? Object.values(def.entries) : [...def.values]),
  nativeenum: (def) => toEnum(enumValues(def.values)),
  array: (def) => ({ type: 'array', items: convert(def.element ?? def.type), ...arrayLimits(def) }),
  set: (def) => ({ type: 'array', items: convert(def.valueType), uniqueItems: true }),
  tuple: (def) => ({ type: 'array', prefixItems: def.items.map(convert), items: def.rest ? convert(def.rest) : false }),
  record: (def) => ({ type: 'object', additionalProperties: convert(def.valueType) }),
  union: (def) => ({ anyOf: def.options.map(convert) }),
  discriminatedunion: (def) => ({ anyOf: [...def.options.values()].map(convert) }),
  intersection: (def) => ({ allOf: [convert(def.left), convert(def.right)] }),
  nullable: (def) => ({ anyOf: [inner(def), { type: 'null' }] }),
  default: (def) => ({
    ...inner(def),
    default: typeof def.defaultValue === 'function' ? def.defaultValue() : def.defaultValue,
  }),
  branded: (def) => convert(def.type),
  lazy: () => ({}),
  object: (def) => {
    const shape: Record<string, Def> = typeof def.shape === 'function' ? def.shape() : def.shape;
    const required = Object.keys(shape).filter((key) => !isOptional(shape[key]));
    return {
      type: 'object',
      properties: Object.fromEntries(Object.entries(shape).map(([key, field]) => [key, convert(field)])),
      ...(required.length > 0 && { required }),
    };
  },
};

function isOptional(schema: Def): boolean {
  return typeof schema.isOptional === 'function' ? schema.isOptional() : schema._zod?.optin === 'optional';
}

/** Version 3 keeps a list of checks; version 4 has properties on the schema. */
const checksOf = (def: Def): Def[] => (Array.isArray(def.checks) ? def.checks.filter((check: Def) => check.kind) : []);

function stringLimits(def: Def, schema: Def): JsonSchema {
  const json: JsonSchema = {};
  for (const { kind, value, regex } of checksOf(def)) {
    if (kind === 'min') json.minLength = value;
    if (kind === 'max') json.maxLength = value;
    if (kind === 'length') Object.assign(json, { minLength: value, maxLength: value });
    if (kind === 'regex') json.pattern = regex.source;
    const format = { email: 'email', url: 'uri', uuid: 'uuid', datetime: 'date-time', date: 'date' }[String(kind)];
    if (format) json.format = format;
  }
  if (typeof schema.minLength === 'number') json.minLength = schema.minLength;
  if (typeof schema.maxLength === 'number') json.maxLength = schema.maxLength;
  return json;
}

const isInteger = (def: Def, schema: Def) => schema.isInt === true || checksOf(def).some(({ kind }) => kind === 'int');

function numberLimits(schema: Def): JsonSchema {
  const { minValue, maxValue } = schema;
  return { ...(isLimit(minValue) && { minimum: minValue }), ...(isLimit(maxValue) && { maximum: maxValue }) };
}

/** Integers of version 4 are limited to what a number can hold, which says nothing. */
const isLimit = (value: unknown) => typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER;

function arrayLimits({ minLength, maxLength, exactLength, checks }: Def): JsonSchema {
  // Version 4 keeps checks as objects of their own.
  const found = Object.assign({}, ...(checks ?? []).map((check: Def) => check._zod?.def));
  const min = (minLength ?? exactLength)?.value ?? found.minimum ?? found.length;
  const max = (maxLength ?? exactLength)?.value ?? found.maximum ?? found.length;
  return { ...(min !== undefined && { minItems: min }), ...(max !== undefined && { maxItems: max }) };
}

const toEnum = (values: unknown[]): JsonSchema => ({ ...toType(values), enum: values });

function toType(values: unknown[]): JsonSchema {
  const [type, ...others] = new Set(values.map((value) => typeof value));
  const isNamed = type === 'string' || type === 'number' || type === 'boolean';
  return isNamed && others.length === 0 ? { type } : {};
}

/** A TypeScript enum of numbers also maps its values back to their names. */
function enumValues(values: unknown): unknown[] {
  const entries = Object.entries(asRecord(values) ?? {});
  return entries.filter(([key]) => !/^\d+$/.test(key)).map(([, value]) => value);
}
