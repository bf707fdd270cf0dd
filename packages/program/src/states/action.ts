import { z } from 'zod';
import { actionKeywords, type BuiltIn, builtInNames, builtInSignature, keywordOf } from '../actions/actions.ts';
import { nameSchema, textKeySchema } from '../actions/keyword.ts';
import type { ActionSignature, Registry } from '../model/menu.ts';
import { suggest } from '../values/suggest.ts';
import { guarded, type Kind } from './kind.ts';

const outcomeSchema = z.union([
  nameSchema.transform((to) => ({ to })),
  z.strictObject({ to: nameSchema, hint: textKeySchema.exactOptional() }),
]);

const fields = z.strictObject({
  kind: z.literal('action'),
  ...guarded,
  action: nameSchema.exactOptional(),
  outcomes: z.record(nameSchema, outcomeSchema),
});

export interface ActionState extends Omit<z.infer<typeof fields>, 'action' | 'outcomes'> {
  action: string;
  /** What the keyword says, of an action that has one. */
  spec?: BuiltIn;
  outcomes: Record<string, { to: string; hint?: string }>;
}

/** An action of the host by its name, or one of the built-in ones by its keyword. */
const schema = z.looseObject({ kind: z.literal('action') }).transform((given, context): ActionState => {
  const names = builtInNames.filter((name) => Object.hasOwn(given, name));
  const [name] = names;
  const pass = (error: z.ZodError) => {
    for (const issue of error.issues) context.addIssue({ ...issue, code: 'custom' } as never);
    return z.NEVER;
  };
  if (names.length + (Object.hasOwn(given, 'action') ? 1 : 0) !== 1) {
    const message = `an action needs exactly one of action, ${builtInNames.join(', ')}`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }
  const { kind, requires, outcomes, ...rest } = given;
  const own = { kind, outcomes, ...(requires !== undefined && { requires }) };
  const parsed = fields.safeParse(name ? own : given);
  if (!parsed.success) return pass(parsed.error);
  if (name === undefined) return { ...parsed.data, action: parsed.data.action ?? '' };
  const spec = actionKeywords[name].schema.safeParse(rest);
  return spec.success ? { ...parsed.data, action: name, spec: spec.data } : pass(spec.error);
});

/** What its keyword or the host declares. */
export function signatureOf({ action, spec }: ActionState, { actions }: Registry): ActionSignature | undefined {
  if (spec) return builtInSignature(action, spec);
  return Object.hasOwn(actions, action) ? actions[action] : undefined;
}

/** The keyword of an action, with what it says. */
export function keywordIn({ action, spec }: ActionState) {
  return spec && { keyword: keywordOf(action), spec: spec as never };
}

export const action: Kind<ActionState> = {
  shows: 'nothing',
  leadsTo: 'the outcome of the action it names',
  schema,
  targets: ({ outcomes }) =>
    Object.entries(outcomes).map(([label, { to }]) => ({ to, label, path: ['outcomes', label] })),
  gives: (state, { registry }) => Object.entries(signatureOf(state, registry)?.values ?? {}),
  expressions(state) {
    const { keyword, spec } = keywordIn(state) ?? {};
    return keyword?.expressions?.(spec as never) ?? [];
  },
  *rowFields(state, { records }) {
    const { keyword, spec } = keywordIn(state) ?? {};
    const kind = keyword?.recordOf?.(spec as never) ?? '';
    if (!Object.hasOwn(records, kind)) return;
    for (const name of ['id', 'phone', 'date']) yield [name, 'text'];
    yield* Object.entries(records[kind] ?? {});
  },
  texts(state) {
    const { keyword, spec } = keywordIn(state) ?? {};
    const hints = Object.entries(state.outcomes).flatMap(([name, { hint }]) =>
      hint === undefined ? [] : [{ key: hint, path: ['outcomes', name] }],
    );
    return [...hints, ...(keyword?.texts?.(spec as never) ?? [])];
  },
  check(state, { registry, say }) {
    const { action: name, outcomes } = state;
    const signature = signatureOf(state, registry);
    if (!signature) return say(['action'], `there is no action ${name}${suggest(name, Object.keys(registry.actions))}`);
    for (const outcome of signature.outcomes)
      if (!Object.hasOwn(outcomes, outcome)) say(['outcomes'], `the outcome ${outcome} of ${name} leads nowhere`);
    for (const outcome of Object.keys(outcomes))
      if (!signature.outcomes.includes(outcome)) say(['outcomes', outcome], `${name} has no such outcome`);
  },
  enter: (state, dialogue) => ({
    dialogue,
    pending: { state: dialogue.state, action: state.action },
    ended: false,
  }),
  summary: (state) => state.action,
  outline: ['{{', '}}'],
  editor: { title: 'Action' },
};
