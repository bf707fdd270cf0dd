import { z } from 'zod';
import { nameSchema, optionCondition, plainText, textKeySchema } from '../actions/keyword.ts';
import { type Dialogue, leaveScreen, stay } from '../model/dialogue.ts';
import { holds } from '../model/evaluate.ts';
import { type Menu, type Option, resumeTarget } from '../model/menu.ts';
import { reservedKeys } from '../values/keys.ts';
import { type Kind, type Move, type Press, screen } from './kind.ts';

const conditions: Record<string, (dialogue: Dialogue) => boolean> = {
  authenticated: ({ account }) => account !== undefined,
  anonymous: ({ account }) => account === undefined,
  resumable: ({ resume }) => resume !== undefined,
  newcomer: ({ isNewcomer }) => isNewcomer === true,
};

export const optionsSchema = z
  .array(
    z.strictObject({
      key: plainText(/^\d{1,2}$/, 'must be one or two digits').exactOptional(),
      text: textKeySchema,
      to: z.union([nameSchema, z.literal(resumeTarget)]),
      when: optionCondition.exactOptional(),
      set: z.record(nameSchema, z.string().max(60)).exactOptional(),
    }),
  )
  .max(40)
  .default([])
  .transform((options) =>
    options.map(({ key = '', ...option }, i): Option => ({ ...option, key: key || String(i + 1) })),
  );

/** Never shown together: a newcomer has left nothing unfinished. */
const opposites: Record<string, string> = {
  authenticated: 'anonymous',
  anonymous: 'authenticated',
  newcomer: 'resumable',
  resumable: 'newcomer',
};

export function isOffered({ when }: { when?: string }, menu: Menu, dialogue: Dialogue): boolean {
  if (when === undefined) return true;
  return Object.hasOwn(conditions, when) ? conditions[when]?.(dialogue) === true : holds(menu, dialogue, when);
}

export function chooseOption(dialogue: Dialogue, { options, input }: Press): Move | undefined {
  const option = options(dialogue).find(({ key }) => key === input.value);
  if (!option) return undefined;
  if (option.to === resumeTarget) return { dialogue, to: resumeTarget };
  const given = Object.entries(option.set ?? {}).flatMap(([name, value]) => [
    [name, value],
    [`${name}.label`, option.label ?? option.text],
  ]);
  const values = { ...dialogue.values, ...Object.fromEntries(given) };
  return { dialogue: leaveScreen({ ...dialogue, values }), to: option.to };
}

const schema = z.strictObject({ kind: z.literal('page'), ...screen, options: optionsSchema });

/** Menus share all of this and add `from`. */
export const page = {
  shows: 'a text, split into pages; options at its end',
  leadsTo: 'an option',
  schema,
  targets: ({ options }) => options.map(({ to, key }, i) => ({ to, label: key, path: ['options', i, 'to'] })),
  gives: ({ options }) => options.flatMap(({ set = {} }) => Object.keys(set).map((name) => [name, 'text'] as const)),
  check({ options }, { say }) {
    for (const [i, { key, to, when }] of options.entries()) {
      const path = ['options', i, 'key'];
      const others = options.slice(0, i).filter((other) => other.key === key);
      if (others.some((other) => when === undefined || other.when !== opposites[when]))
        say(path, `two options share the key ${key}: give one of them another`);
      if (Object.values<string>(reservedKeys).includes(key))
        say(path, `the key ${key} is reserved: every screen has it, so choose another`);
      if (to === resumeTarget && when !== 'resumable') say(path, `${resumeTarget} needs "when: resumable"`);
    }
  },
  longest({ options }, name, { say }) {
    const own = options.filter(({ set = {} }) => Object.hasOwn(set, name));
    return { values: own.map(({ set }) => set?.[name] ?? ''), labels: own.map(({ text }) => say(text)) };
  },
  options: ({ options }, menu, dialogue) => options.filter((option) => isOffered(option, menu, dialogue)),
  press: (_, dialogue, press) =>
    press.navigate(dialogue) ?? chooseOption(dialogue, press) ?? stay(dialogue, 'hint.choice'),
  outline: ['(', ')'],
  editor: { title: 'Page', draft: { text: '{name}.text' }, texts: { '{name}.text': '{text}' } },
} satisfies Kind<Omit<z.infer<typeof schema>, 'kind'>>;
