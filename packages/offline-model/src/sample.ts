type Schema = Record<string, unknown>;

const texts = new Map([
  ['date', '2026-01-01'],
  ['date-time', '2026-01-01T00:00:00Z'],
  ['time', '00:00:00Z'],
  ['email', 'nobody@example.org'],
  ['uri', 'https://example.org'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
]);
const maxDepth = 16;
/** The schema may be a stranger's. Beyond these limits values are left out. */
const maxSteps = 10_000;
const maxCharacters = 100_000;

/** A value that a JSON Schema allows, made of the words and numbers that were said where they fit. */
export function sampleOf(root: Schema, said: string): unknown {
  const numbers = said.match(/-?\d+(?:\.\d+)?/g)?.map(Number) ?? [];
  let [steps, characters] = [maxSteps, maxCharacters];

  function take<Item>(items: Item[]): Item[] {
    const taken = items.slice(0, characters > 0 ? steps : 0);
    steps -= taken.length;
    return taken;
  }

  function keep(value: unknown): unknown {
    if (characters > 0) characters -= JSON.stringify(value)?.length ?? 0;
    return characters > 0 ? value : null;
  }

  function follow(schema: Schema): Schema {
    if (typeof schema.$ref !== 'string') return schema;
    const path = take(schema.$ref.split('/').slice(1));
    const found = path.reduce<unknown>((at, name) => (isSchema(at) && Object.hasOwn(at, name) ? at[name] : null), root);
    return { ...Object.fromEntries(take(Object.entries(found ?? {}))), ...schema };
  }

  function sample(given: unknown, depth: number): unknown {
    if (!isSchema(given) || depth > maxDepth) return null;
    const schema = follow(given);
    if ('const' in schema) return keep(schema.const);
    if (Array.isArray(schema.enum))
      return keep(take(schema.enum).find((one) => said.includes(String(one))) ?? schema.enum[0]);
    if ('default' in schema) return keep(schema.default);
    const [choice] = [schema.anyOf, schema.oneOf].find(Array.isArray) ?? [];
    if (choice) return sample(choice, depth + 1);
    if (Array.isArray(schema.allOf))
      return Object.assign({}, ...take(schema.allOf).map((part) => sample(part, depth + 1) as object));
    const [type = schema.properties ? 'object' : 'null'] = [schema.type].flat();
    return isType(type) ? byType[type](schema, depth) : null;
  }

  const byType = {
    string({ format, minLength = 0, maxLength = 1_000 }: Schema) {
      const text = texts.get(String(format)) ?? said;
      return keep(text.slice(0, Number(maxLength)).padEnd(Math.min(Number(minLength), characters), '.'));
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
      const missing = Math.min(Math.max(Number(minItems) - first.length, 0), steps);
      return take([...first, ...Array.from({ length: missing }, () => items)]).map((item) => sample(item, depth + 1));
    },
    object({ properties = {} }: Schema, depth: number): Schema {
      const entries = take(Object.entries(properties as Schema));
      for (const [name] of entries) characters -= name.length;
      return Object.fromEntries(entries.map(([name, value]) => [name, sample(value, depth + 1)]));
    },
  };
  const isType = (type: unknown): type is keyof typeof byType => Object.hasOwn(byType, String(type));

  return sample(root, 0);
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;
