import type { FormScreen } from '../forms/protocol.ts';
import type { Dialogue } from './dialogue.ts';
import { reservedKeys } from './menu.ts';

/** What a screen is laid out from. */
export interface FormContent {
  hint: string | undefined;
  body: string;
  lines: string[];
}

export type Say = (key: string, values?: Readonly<Record<string, string>>) => string;

/** Texts that forms show beside their own. */
export const formTexts: readonly string[] = [
  'common.skip',
  'common.search',
  'hint.noMatch',
  'hint.text',
  'hint.integer',
  'hint.decimal',
  'hint.date',
  'hint.choices',
  'hint.range',
  'form.add',
  'form.another',
  'form.yes',
  'form.no',
  'form.next',
  'form.accept',
  'form.keep',
  'form.several',
  'form.rank',
  'form.end',
  'form.send',
  'form.required',
  'form.refused',
  'form.full',
  'form.noChoices',
  'form.blocked',
  'form.timeHint',
  'form.dateTimeHint',
  'form.rankHint',
  'form.changed',
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
export function toFormContent({ form, hint }: Dialogue, say: Say): FormContent {
  const screen = form?.screen ?? { type: 'note', body: '' };
  const { hint: own, body } = screen;
  const said = own?.text ?? (own?.key === undefined ? undefined : say(own.key, own.values ?? {}));
  return {
    hint: said ?? (hint === undefined ? undefined : say(hint)),
    body: toBody(screen, say),
    lines: toLines(screen, say),
  };

  function toBody({ type, isLong, count }: FormScreen, speak: Say): string {
    const format = formats[type];
    if (type === 'send') return speak('form.end');
    if (type === 'another') return speak(count === 0 ? 'form.add' : 'form.another', { 'form.what': body });
    const more = [
      ...(type === 'choices' ? [speak('form.several')] : []),
      ...(type === 'rank' ? [speak('form.rank')] : []),
      ...(isLong ? [speak('common.search')] : []),
      ...(format === undefined || own?.key === format ? [] : [speak(format)]),
    ];
    return [body, ...more].join('\n');
  }
}

function toLines({ type, options, optional, answer }: FormScreen, say: Say): string[] {
  if (type === 'send') return [`1. ${say('form.send')}`];
  if (type === 'another') return [`1. ${say('form.yes')}`, `2. ${say('form.no')}`];
  if (type === 'note') return [`1. ${say('form.next')}`];
  const choices = options?.map(({ key, label }) => `${key}. ${label}`) ?? [];
  const skip = `${reservedKeys.skip}. `;
  return [
    ...choices,
    ...(type === 'accept' ? [`1. ${say('form.accept')}`] : []),
    ...(answer === undefined ? [] : [`${skip}${say('form.keep', { 'form.answer': answer })}`]),
    ...(answer === undefined && optional ? [`${skip}${say('common.skip')}`] : []),
  ];
}

/** `0`, or `00` where a number is asked for. */
export function formBackKey(screen: FormScreen | undefined): string {
  const isNumber = screen?.type === 'integer' || screen?.type === 'decimal';
  return isNumber ? reservedKeys.backFromZero : reservedKeys.back;
}
