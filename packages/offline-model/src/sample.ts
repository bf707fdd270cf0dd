type Schema = Record<string, unknown>;

const texts: Record<string, string> = {
  date: '2026-01-01',
  'date-time': '2026-01-01T00:00:00Z',
  time: '00:00:00Z',
  email: 'nobody@example.org',
  uri: 'https://example.org',
  uuid: '00000000-0000-4000-8000-000000000000',
};
const maxDepth = 16;

/** A value that a JSON Schema allows, made of the words and numbers that were said where they fit. */
export function sampleOf(root: Schema, said: string): unknown {
  const numbers = said.match(/-?\d+(?:\.\d+)?/g)?.map(Number) ?? [];

  function follow(schema: Schema): Schema {
    const path = typeof schema.$ref === 'string' ? schema.$ref.split('/').slice(1) : [];
    const found = path.reduce<unknown>((at, name) => (at as Schema | undefined)?.[name], root);
    return path.length > 0 ? { ...(found as Schema), ...schema, $ref: undefined } : schema;
  }

  function sample(given: unknown, depth: number): unknown {
    if (typeof given !== 'object' || given === null || depth > maxDepth) return null;
    const schema = follow(given as Schema);
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.enum)) return schema.enum.find((one) => said.includes(String(one))) ?? schema.enum[0];
    if ('default' in schema) return schema.default;
    const [choice] = [schema.anyOf, schema.oneOf].find(Array.isArray) ?? [];
    if (choice) return sample(choice, depth + 1);
    if (Array.isArray(schema.allOf))
      return Object.assign({}, ...schema.allOf.map((part) => sample(part, depth + 1) as object));
    const [type = schema.properties ? 'object' : 'null'] = [schema.type].flat();
    return byType[type as keyof typeof byType]?.(schema, depth) ?? null;
  }

  const byType = {
    string({ format, minLength = 0, maxLength = 1_000 }: Schema) {
      return (texts[String(format)] ?? said).slice(0, Number(maxLength)).padEnd(Number(minLength), '.');
    },
    number({ minimum, exclusiveMinimum, maximum }: Schema) {
      const least = Number(minimum ?? Number(exclusiveMinimum ?? -1) + 1);
      const next = numbers.shift() ?? least;
      return Math.min(
        Math.max(next, minimum === undefined && exclusiveMinimum === undefined ? next : least),
        Number(maximum ?? next),
      );
    },
    integer: (schema: Schema) => Math.trunc(byType.number(schema)),
    boolean: () => /\b(yes|true|ndiyo|oui)\b/i.test(said),
    array({ items, prefixItems, minItems = 0 }: Schema, depth: number) {
      const first = Array.isArray(prefixItems) ? prefixItems : [];
      const rest = Array.from({ length: Math.max(Number(minItems) - first.length, 0) }, () => items);
      return [...first, ...rest].map((item) => sample(item, depth + 1));
    },
    object: ({ properties = {} }: Schema, depth: number): Schema =>
      Object.fromEntries(Object.entries(properties as Schema).map(([name, value]) => [name, sample(value, depth + 1)])),
  };

  return sample(root, 0);
}
