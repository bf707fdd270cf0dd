import { z } from 'zod';
import {
  type BuiltIn,
  type BuiltInName,
  builtInNames,
  builtInSchemas,
  expressionSchema,
  nameSchema,
  textKeySchema,
} from './built-in-actions.ts';
import { maxPatternLength, patternFault } from './pattern.ts';
import { questionTypes } from './question.ts';

const optionSchema = z.strictObject({
  // `key: 1` is a number to YAML and the same key to everyone else.
  key: z
    .union([z.string(), z.int().min(0)])
    .transform(String)
    .pipe(z.string().regex(/^\d{1,2}$/, 'one or two digits'))
    .exactOptional(),
  text: textKeySchema,
  to: z.union([nameSchema, z.literal('@resume')]),
  when: expressionSchema.exactOptional(),
  set: z.record(nameSchema, z.string().max(60)).exactOptional(),
});
const guarded = { requires: z.literal('authenticated').exactOptional() };
const screen = { text: textKeySchema, back: z.boolean().default(true), ...guarded };

const fieldSchema = z.string().min(1).max(60);
const menuSchema = z
  .strictObject({
    kind: z.literal('menu'),
    ...screen,
    options: z.array(optionSchema).max(40).default([]),
    from: z
      .strictObject({
        csv: z.string().exactOptional(),
        json: z.string().exactOptional(),
        list: expressionSchema.exactOptional(),
        text: fieldSchema,
        save: z.record(nameSchema, fieldSchema).default({}),
        where: expressionSchema.exactOptional(),
      })
      .refine(
        ({ csv, json, list }) => [csv, json, list].filter(Boolean).length === 1,
        'must have exactly one of csv, json and list',
      )
      .exactOptional(),
    when: expressionSchema.exactOptional(),
    to: nameSchema.exactOptional(),
  })
  .superRefine(({ from, to, options, when }, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if ((from === undefined) !== (to === undefined)) refuse('to', 'from and to belong together');
    if ((from === undefined) === (options.length === 0)) refuse('options', 'a menu has either options or from');
    if (when !== undefined && from === undefined)
      refuse('when', 'when is for a menu with from; lead past others with a branch');
  });

const limitSchema = z
  .union([z.number(), z.string()])
  .refine(
    (limit) => typeof limit === 'number' || limit === 'today' || z.iso.date().safeParse(limit).success,
    'must be a number, a date such as 2026-12-31, or today',
  );
const countSchema = z.int().min(0).max(160);
const questionSchema = z.strictObject({
  type: z.enum(questionTypes),
  min: limitSchema.exactOptional(),
  max: limitSchema.exactOptional(),
  pattern: z
    .string()
    .max(maxPatternLength)
    .superRefine((pattern, context) => {
      const fault = patternFault(pattern);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    })
    .exactOptional(),
  length: z
    .union([
      countSchema.transform((max) => ({ max })),
      z.strictObject({ min: countSchema.exactOptional(), max: countSchema.exactOptional() }),
    ])
    .exactOptional(),
  check: z.strictObject({ that: expressionSchema, hint: textKeySchema }).exactOptional(),
  hint: textKeySchema.exactOptional(),
  options: z
    .array(
      z.strictObject({
        text: textKeySchema,
        value: z.string().regex(/^\S{1,60}$/, 'one word'),
        when: expressionSchema.exactOptional(),
      }),
    )
    .min(1)
    .max(40)
    .exactOptional(),
});

const promptSchema = z
  .strictObject({
    kind: z.literal('prompt'),
    ...screen,
    ...questionSchema.partial().shape,
    validator: nameSchema.exactOptional(),
    optional: z.boolean().exactOptional(),
    when: expressionSchema.exactOptional(),
    save: nameSchema,
    secret: z.boolean().default(false),
    to: nameSchema,
  })
  .transform(({ type, min, max, pattern, length, check, hint, options, ...state }, context) => {
    const limits = { min, max, pattern, length, check, hint, options };
    const given = Object.entries(limits).filter(([, value]) => value !== undefined);
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if ((type === undefined) === (state.validator === undefined))
      refuse('type', 'a prompt has either a type or a validator');
    if (type === undefined) {
      for (const [name] of given) refuse(name, `${name} needs a type`);
      return state;
    }
    const isChoice = type === 'choice' || type === 'choices';
    if (isChoice !== (options !== undefined))
      refuse('options', 'options belong to the types choice and choices, and only there');
    if (pattern !== undefined && type !== 'text') refuse('pattern', 'pattern is for texts');
    if (length !== undefined && type !== 'text') refuse('length', 'length is for texts');
    const isDate = [min, max].map((limit) => typeof limit === 'string');
    if ([min, max].some((limit, i) => limit !== undefined && isDate[i] !== (type === 'date')))
      refuse('min', `min and max do not fit the type ${type}`);
    return { ...state, question: { type, ...Object.fromEntries(given) } as z.infer<typeof questionSchema> };
  });

const outcomeSchema = z.union([
  nameSchema.transform((to) => ({ to })),
  z.strictObject({ to: nameSchema, hint: textKeySchema.exactOptional() }),
]);

const actionFields = z.strictObject({
  kind: z.literal('action'),
  ...guarded,
  action: nameSchema.exactOptional(),
  outcomes: z.record(nameSchema, outcomeSchema),
});

/** An action of TypeScript by its name, or one of the built-in ones by its keyword. */
const actionSchema = z
  .looseObject({ kind: z.literal('action') })
  .transform((given, context): z.infer<typeof actionFields> & { action: string; spec?: BuiltIn } => {
    const names = builtInNames.filter((name) => Object.hasOwn(given, name));
    const [name] = names;
    const pass = (error: z.ZodError) => {
      for (const issue of error.issues) context.addIssue({ ...issue, code: 'custom' } as never);
      return z.NEVER;
    };
    if (names.length + (Object.hasOwn(given, 'action') ? 1 : 0) !== 1) {
      context.addIssue({
        code: 'custom',
        message: `an action needs exactly one of action, ${builtInNames.join(', ')}`,
      });
      return z.NEVER;
    }
    const { kind, requires, outcomes, ...rest } = given;
    const own = { kind, outcomes, ...(requires !== undefined && { requires }) };
    const fields = actionFields.safeParse(name ? own : given);
    if (!fields.success) return pass(fields.error);
    if (name === undefined) return { ...fields.data, action: fields.data.action ?? '' };
    const spec = builtInSchemas[name as BuiltInName].schema.safeParse(rest);
    return spec.success ? { ...fields.data, action: name, spec: spec.data } : pass(spec.error);
  });

/** A question of a form by its name, or by a path such as head/name. */
const questionPath = z.string().regex(/^[\w./-]+$/, 'must be a name such as photo or a path such as head/photo');

export const stateSchema = z.discriminatedUnion('kind', [
  menuSchema,
  promptSchema,
  z.strictObject({ kind: z.literal('page'), ...screen, options: z.array(optionSchema).max(40).default([]) }),
  actionSchema,
  z.strictObject({ kind: z.literal('end'), text: textKeySchema }),
  z.strictObject({
    kind: z.literal('branch'),
    when: z
      .array(z.strictObject({ that: expressionSchema, to: nameSchema }))
      .min(1)
      .max(40),
    else: nameSchema,
  }),
  z.strictObject({ kind: z.literal('set'), values: z.record(nameSchema, expressionSchema), to: nameSchema }),
  z.strictObject({ kind: z.literal('call'), flow: nameSchema, to: nameSchema }),
  z.strictObject({ kind: z.literal('return') }),
  z.strictObject({
    kind: z.literal('form'),
    ...guarded,
    form: z.string().regex(/^forms\/(server\/)?[^/]+\.(xml|xlsx)$/, 'a file such as forms/household.xml'),
    take: z.record(nameSchema, questionPath).default({}),
    waive: z.array(questionPath).max(100).default([]),
    when: expressionSchema.exactOptional(),
    to: nameSchema,
  }),
  z.strictObject({
    kind: z.literal('each'),
    list: expressionSchema,
    as: nameSchema,
    do: nameSchema,
    to: nameSchema,
  }),
]);

export type ParsedState = z.infer<typeof stateSchema>;
