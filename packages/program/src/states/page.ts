import { z } from 'zod';
import { expressionSchema, nameSchema, textKeySchema, type UsedExpression, type UsedText } from '../actions/keyword.ts';
import { type Dialogue, leaveScreen, type Step, stay } from '../model/dialogue.ts';
import { holds } from '../model/evaluate.ts';
import { type Menu, type Option, resumeTarget } from '../model/menu.ts';
import { reservedKeys } from '../values/keys.ts';
import { type Kind, type Press, type ScreenContent, type Seen, screen } from './kind.ts';

export const optionsSchema = z
  .array(
    z.strictObject({
      // `key: 1` is a number to YAML and the same key to everyone else.
      key: z
        .union([z.string(), z.int().min(0)])
        .transform(String)
        .pipe(z.string().regex(/^\d{1,2}$/, 'must be one or two digits'))
        .exactOptional(),
      text: textKeySchema,
      to: z.union([nameSchema, z.literal(resumeTarget)]),
      when: expressionSchema.exactOptional(),
      set: z.record(nameSchema, z.string().max(60)).exactOptional(),
    }),
  )
  .max(40)
  .default([])
  .transform((options) =>
    options.map(({ key = '', ...option }, i): Option => ({ ...option, key: key || String(i + 1) })),
  );

const conditions: Record<string, (dialogue: Dialogue) => boolean> = {
  authenticated: ({ account }) => account !== undefined,
  anonymous: ({ account }) => account === undefined,
  resumable: ({ resume }) => resume !== undefined,
  newcomer: ({ isNewcomer }) => isNewcomer === true,
};

/** Never shown together: a newcomer has left nothing unfinished. */
const excluding = [
  ['authenticated', 'anonymous'],
  ['newcomer', 'resumable'],
];

function exclude(one: string | undefined, other: string | undefined): boolean {
  return one !== other && excluding.some((pair) => [one, other].every((when) => pair.includes(when ?? '')));
}

export function optionExpressions(options: readonly { when?: string | undefined }[]): UsedExpression[] {
  return options.flatMap(({ when }, i) =>
    when === undefined || Object.hasOwn(conditions, when)
      ? []
      : [{ source: when, path: ['options', i, 'when'], wanted: 'bool' }],
  );
}

export const optionTexts = (options: readonly { text: string }[]): UsedText[] =>
  options.map(({ text }, i) => ({ key: text, path: ['options', i, 'text'] }));

export function visibleOptions(options: Option[], menu: Menu, dialogue: Dialogue): Option[] {
  return options.filter(({ when }) => {
    if (when === undefined) return true;
    return Object.hasOwn(conditions, when) ? conditions[when]?.(dialogue) : holds(menu, dialogue, when);
  });
}

export function optionsContent(options: Option[], body: string, { dialogue: { hint }, say }: Seen): ScreenContent {
  const lines = options.map(({ key, label, text }) => ({ key, label: label ?? say(text) }));
  return { hint: hint === undefined ? undefined : say(hint), body, lines };
}

export function chooseOption(dialogue: Dialogue, press: Press): Step | undefined {
  const option = press.options(dialogue).find(({ key }) => key === press.input.value);
  if (!option) return undefined;
  if (option.to === resumeTarget && dialogue.resume) return press.resume(dialogue);
  const given = Object.entries(option.set ?? {}).flatMap(([name, value]) => [
    [name, value],
    [`${name}.label`, option.label ?? option.text],
  ]);
  const values = { ...dialogue.values, ...Object.fromEntries(given) };
  return press.arrive(leaveScreen(given.length === 0 ? dialogue : { ...dialogue, values }), option.to);
}

const schema = z.strictObject({ kind: z.literal('page'), ...screen, options: optionsSchema });

/** All functions but those of `from` are a menu's too. */
export const page = {
  shows: 'a text, split into pages; options at its end',
  leadsTo: 'an option',
  schema,
  targets: ({ options }) => options.map(({ to, key }, i) => ({ to, label: key, path: ['options', i, 'to'] })),
  gives: ({ options }) => options.flatMap(({ set = {} }) => Object.keys(set).map((name) => [name, 'text'] as const)),
  expressions: ({ options }) => optionExpressions(options),
  texts: ({ text, options }) => [{ key: text, path: ['text'] }, ...optionTexts(options)],
  check({ options }, { say }) {
    for (const [i, { key, to, when }] of options.entries()) {
      const path = ['options', i, 'key'];
      const others = options.slice(0, i).filter((other) => other.key === key);
      if (others.some((other) => !exclude(other.when, when)))
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
  options: ({ options }, menu, dialogue) => visibleOptions(options, menu, dialogue),
  content: ({ text, options }, seen) =>
    optionsContent(visibleOptions(options, seen.menu, seen.dialogue), seen.say(text), seen),
  press: (_, dialogue, press) =>
    press.navigate(dialogue) ?? chooseOption(dialogue, press) ?? stay(dialogue, 'hint.choice'),
  outline: ['(', ')'],
  editor: { title: 'Page', draft: { text: '{name}.text' }, texts: { '{name}.text': '{text}' } },
} satisfies Kind<Omit<z.infer<typeof schema>, 'kind'>>;
