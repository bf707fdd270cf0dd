import { countSeptets, isGsm, toShowable } from '@palaver/ussd/gsm';
import { layOut, screenLimit, wideScreenLimit } from '@palaver/ussd/screen';
import { type ProgramModel, type ProgramState, sayIn, toRecord } from './read-program.ts';

export interface TextCount {
  used: number;
  limit: number;
  /** A character outside the phones' default alphabet halves the room. */
  isWide: boolean;
}

/** How much of a screen a text takes, as the service counts it. */
export function countText(text: string): TextCount {
  const shown = toShowable(text);
  const isWide = !isGsm(shown);
  return {
    used: isWide ? shown.length : (countSeptets(shown) ?? shown.length),
    limit: isWide ? wideScreenLimit : screenLimit,
    isWide,
  };
}

/** The screens of a state in a language, laid out as the service does. Values are shown as `{name}`. */
export function previewScreens(model: ProgramModel, { kind, raw }: ProgramState, language: string): string[] {
  if (typeof raw.text !== 'string') return [];
  const say = (key: unknown) => sayIn(model, key, language);
  const word = (key: string, otherwise: string) => (say(key) === key ? otherwise : say(key));
  const options = Array.isArray(raw.options) ? raw.options.map(toRecord) : [];
  const lines = options.map(({ key, text }, i) => `${key ?? i + 1}. ${say(text)}`);
  const isEnd = kind === 'end';
  const pages = layOut(
    { body: say(raw.text), lines },
    {
      more: `98. ${word('common.more', 'More')}`,
      back: isEnd ? '' : `0. ${word('common.back', 'Back')}`,
      exit: isEnd ? '' : `*. ${word('common.exit', 'Exit')}`,
      hasBack: !isEnd && raw.back !== false,
    },
  );
  return pages.map(({ text }) => text);
}
