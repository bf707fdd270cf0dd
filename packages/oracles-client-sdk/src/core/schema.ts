// Schemas of tools and actions are zod's, version 3 or 4, known only by the Standard Schema interface both have: the
// library brings no zod of its own.

export interface SchemaIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

type ValidationResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<SchemaIssue> };

/** A zod schema (version 3.25 or later) or any other Standard Schema. */
export interface Schema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => ValidationResult<Output> | Promise<ValidationResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a schema gives after parsing. */
export type SchemaOutput<S> = S extends {
  readonly '~standard': { readonly types?: { readonly output: infer Output } | undefined };
}
  ? Output
  : unknown;

/** Checks arguments; throws with every fault in one message. */
export async function parseWith<Output>(schema: Schema<Output>, value: unknown): Promise<Output> {
  const result = await schema['~standard'].validate(value);
  if (!result.issues) return result.value;
  const faults = result.issues.map(({ message, path = [] }) => {
    const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return at ? `${at}: ${message}` : message;
  });
  throw new TypeError(`The arguments are not right: ${faults.join('; ')}`);
}
