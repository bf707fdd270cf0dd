import { z } from 'zod';
import { conditionSchema, nameSchema } from '../actions/keyword.ts';
import type { Dialogue, FormScreen } from '../model/dialogue.ts';
import { suggest } from '../values/fault.ts';
import { backKeyFor, reservedKeys } from '../values/keys.ts';
import { at, guarded, type Kind, type Say, type ScreenContent } from './kind.ts';

const questionPath = z.string().regex(/^[\w./-]+$/, 'must be a name such as photo or a path such as head/photo');

const schema = z.strictObject({
  kind: z.literal('form'),
  ...guarded,
  form: z.string().regex(/^forms\/(server\/)?[^/]+\.(xml|xlsx)$/, 'must be a file such as forms/household.xml'),
  /** The values to set, each from the answer to a question. */
  take: z.record(nameSchema, questionPath).default({}),
  /** Required questions to leave out because a keypad cannot answer them; the submission names them. */
  waive: z.array(questionPath).max(100).default([]),
  when: conditionSchema.exactOptional(),
  to: nameSchema,
});

/** Asks the questions of an ODK form; its answers are one submission. The host runs the form. */
export const form: Kind<z.infer<typeof schema>> = {
  shows: 'the questions of an [ODK form](ussd-forms.md)',
  leadsTo: '`to`, once the form is sent',
  schema,
  targets: ({ to }) => [at('to', to)],
  gives: ({ take }) => Object.keys(take).map((name) => [name, 'any']),
  texts: () => formTexts.map((key) => ({ key, path: ['form'] })),
  check(state, { forms, say }) {
    if (!forms.has(state.form)) say(['form'], `there is no file ${state.form}${suggest(state.form, forms.keys())}`);
  },
  isQuestion: () => true,
  backKey: (_, __, dialogue) => backKeyOf(dialogue),
  content(_, { dialogue: { form }, say }) {
    const screen: FormScreen = form?.screen ?? { type: 'note', body: '' };
    const { text, key, values = {} } = screen.hint ?? {};
    const hint = text ?? (key === undefined ? undefined : say(key, values));
    return { hint, body: toBody(screen, say), lines: toLines(screen, say) };
  },
  enter: (_, dialogue) => ({ dialogue, form: dialogue.form ? undefined : {}, ended: false }),
  press(_, dialogue, { input: { value }, countPages }) {
    const { page } = dialogue;
    const isBack = page > 0 && value === backKeyOf(dialogue);
    const isMore = value === reservedKeys.more && page + 1 < countPages(dialogue);
    if (isBack || isMore) return { dialogue: { ...dialogue, page: isBack ? page - 1 : page + 1 }, ended: false };
    return { dialogue, form: { input: value }, ended: false };
  },
  summary: (state) => state.form,
  outline: ['[/', '/]'],
  editor: { title: 'Form', draft: { form: '{form}', to: '{to}' }, offers: { take: {} } },
};

function backKeyOf({ form }: Dialogue): string {
  const type = form?.screen.type;
  return backKeyFor(type === 'integer' || type === 'decimal');
}

export const formTexts: readonly string[] = [
  ...['common.skip', 'common.search'],
  ...['noMatch', 'text', 'integer', 'decimal', 'date', 'choices', 'range'].map((key) => `hint.${key}`),
  ...['add', 'another', 'yes', 'no', 'next', 'accept', 'keep', 'several', 'rank', 'end', 'send', 'required', 'refused']
    .concat('full', 'noChoices', 'blocked', 'timeHint', 'dateTimeHint', 'rankHint', 'changed')
    .map((key) => `form.${key}`),
];

export const formPlaceholders: readonly string[] = ['form.what', 'form.answer'];

/** Callers cannot guess these formats, so the screen shows them. */
const formats: Partial<Record<FormScreen['type'], string>> = {
  date: 'hint.date',
  time: 'form.timeHint',
  dateTime: 'form.dateTimeHint',
};

function toBody({ type, isLong, count, body, hint }: FormScreen, say: Say): string {
  const format = formats[type];
  if (type === 'send') return say('form.end');
  if (type === 'another') return say(count === 0 ? 'form.add' : 'form.another', { 'form.what': body });
  const more = [
    ...(type === 'choices' ? [say('form.several')] : []),
    ...(type === 'rank' ? [say('form.rank')] : []),
    ...(isLong ? [say('common.search')] : []),
    ...(format === undefined || hint?.key === format ? [] : [say(format)]),
  ];
  return [body, ...more].join('\n');
}

function toLines({ type, options = [], optional, answer }: FormScreen, say: Say): NonNullable<ScreenContent['lines']> {
  const numbered = (...keys: string[]) => keys.map((key, i) => ({ key: String(i + 1), label: say(`form.${key}`) }));
  if (type === 'send') return numbered('send');
  if (type === 'another') return numbered('yes', 'no');
  if (type === 'note') return numbered('next');
  const key = reservedKeys.skip;
  const skip = optional ? [{ key, label: say('common.skip') }] : [];
  const keep = answer === undefined ? skip : [{ key, label: say('form.keep', { 'form.answer': answer }) }];
  return [...options, ...(type === 'accept' ? numbered('accept') : []), ...keep];
}
