import { z } from 'zod';
import { actionKeywords, type BuiltIn, builtInNames, keywordOf } from '../actions/actions.ts';
import { nameSchema, textKeySchema } from '../actions/keyword.ts';
import type { ActionSignature, Registry } from '../model/menu.ts';
import { suggest } from '../values/fault.ts';
import { guarded, type Kind } from './kind.ts';

const outcomeSchema = z.union([
  nameSchema.transform((to): { to: string; hint?: string } => ({ to })),
  z.strictObject({ to: nameSchema, hint: textKeySchema.exactOptional() }),
]);
const fields = z.strictObject({
  kind: z.literal('action'),
  ...guarded,
  action: nameSchema.default(''),
  outcomes: z.record(nameSchema, outcomeSchema),
});

export interface ActionState extends z.infer<typeof fields> {
  spec?: BuiltIn;
}

const schema = z.looseObject({ kind: z.literal('action') }).transform((given, context): ActionState => {
  const [name, ...others] = ['action' as const, ...builtInNames].filter((each) => Object.hasOwn(given, each));
  const fail = (issues: readonly object[]) => {
    for (const issue of issues) context.addIssue({ ...issue, code: 'custom' } as never);
    return z.NEVER;
  };
  if (name === undefined || others.length > 0)
    return fail([{ message: `an action needs exactly one of action, ${builtInNames.join(', ')}` }]);
  const { kind, requires, outcomes, ...rest } = given;
  const own = { kind, outcomes, ...(requires !== undefined && { requires }) };
  const parsed = fields.safeParse(name === 'action' ? given : own);
  if (!parsed.success) return fail(parsed.error.issues);
  if (name === 'action') return parsed.data;
  const spec = actionKeywords[name].schema.safeParse(rest);
  return spec.success ? { ...parsed.data, action: name, spec: spec.data } : fail(spec.error.issues);
});

export function signatureOf({ action, spec }: ActionState, { actions }: Registry): ActionSignature | undefined {
  if (!spec) return Object.hasOwn(actions, action) ? actions[action] : undefined;
  const { outcomes, finishes, signature } = keywordOf(action);
  return { outcomes: Object.keys(outcomes), finishes, values: {}, ...signature?.(spec) };
}

export const action: Kind<ActionState> = {
  shows: 'nothing',
  leadsTo: 'the outcome of the action it names',
  schema,
  targets: ({ outcomes }) =>
    Object.entries(outcomes).map(([label, { to }]) => ({ to, label, path: ['outcomes', label] })),
  gives: (state, { registry }) => Object.entries(signatureOf(state, registry)?.values ?? {}),
  rowFields({ action: name, spec }, { records }) {
    const kind = String({ ...spec }[name as never]);
    if (!Object.hasOwn(records, kind)) return [];
    return Object.entries({ id: 'text', phone: 'text', date: 'text', ...records[kind] });
  },
  texts: ({ outcomes }) =>
    Object.entries(outcomes).flatMap(([outcome, { hint }]) =>
      hint === undefined ? [] : [{ key: hint, path: ['outcomes', outcome] }],
    ),
  check(state, check) {
    const { action: name, outcomes, spec } = state;
    const { registry, say } = check;
    const signature = signatureOf(state, registry);
    if (!signature) return say(['action'], `there is no action ${name}${suggest(name, Object.keys(registry.actions))}`);
    for (const outcome of signature.outcomes)
      if (!Object.hasOwn(outcomes, outcome))
        say(['outcomes'], `the outcome ${outcome} of ${name} leads nowhere: give it a state`);
    for (const outcome of Object.keys(outcomes))
      if (!signature.outcomes.includes(outcome))
        say(['outcomes', outcome], `${name} has no such outcome: leave it out`);
    if (spec) keywordOf(name).check?.(spec as never, check);
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
