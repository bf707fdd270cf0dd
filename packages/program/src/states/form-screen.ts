import type { Dialogue } from '../model/dialogue.ts';
import type { FormScreen } from '../model/form-protocol.ts';
import { reservedKeys } from '../values/keys.ts';
import type { Say, ScreenContent } from './kind.ts';

/** Texts that forms show beside their own. */
export const formTexts: readonly string[] = [
  ...['common.skip', 'common.search'],
  ...['noMatch', 'text', 'integer', 'decimal', 'date', 'choices', 'range'].map((key) => `hint.${key}`),
  ...['add', 'another', 'yes', 'no', 'next', 'accept', 'keep', 'several', 'rank', 'end', 'send', 'required', 'refused']
    .concat('full', 'noChoices', 'blocked', 'timeHint', 'dateTimeHint', 'rankHint', 'changed')
    .map((key) => `form.${key}`),
];

/** What the texts of forms may name. */
export const formPlaceholders: readonly string[] = ['form.what', 'form.answer'];

/** How an answer is written, which nobody can guess. */
const formats: Partial<Record<FormScreen['type'], string>> = {
  date: 'hint.date',
  time: 'form.timeHint',
  dateTime: 'form.dateTimeHint',
};

/** The screen of a form, with its choices and other keys. */
export function toFormContent({ form, hint }: Dialogue, say: Say): ScreenContent {
  const screen = form?.screen ?? { type: 'note', body: '' };
  const own = screen.hint;
  const said = own?.text ?? (own?.key === undefined ? undefined : say(own.key, own.values ?? {}));
  return {
    hint: said ?? (hint === undefined ? undefined : say(hint)),
    body: toBody(screen, say),
    lines: toLines(screen, say),
  };
}

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

function toLines({ type, options = [], optional, answer }: FormScreen, say: Say): ScreenContent['lines'] {
  const numbered = (...keys: string[]) => keys.map((key, i) => ({ key: String(i + 1), label: say(`form.${key}`) }));
  if (type === 'send') return numbered('send');
  if (type === 'another') return numbered('yes', 'no');
  if (type === 'note') return numbered('next');
  const key = reservedKeys.skip;
  const skip = optional ? [{ key, label: say('common.skip') }] : [];
  const keep = answer === undefined ? skip : [{ key, label: say('form.keep', { 'form.answer': answer }) }];
  return [...options, ...(type === 'accept' ? numbered('accept') : []), ...keep];
}
