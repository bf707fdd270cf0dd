// Schemas of tools and actions are zod's, any version 3 or 4, known only by their interfaces: the library brings no zod of
// its own.

export interface SchemaIssue {
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

/** What a schema gives after parsing. */
export type SchemaOutput<S> = S extends {
  readonly '~standard': { readonly types?: { readonly output: infer Output } | undefined };
}
  ? Output
  : S extends { readonly _output: infer Output }
    ? Output
    : unknown;

/** Checks arguments; throws with every fault in one message. */
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
