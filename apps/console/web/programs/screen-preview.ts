import { isGsm, toShowable } from '@palaver/program/gsm';
import { reservedKeys } from '@palaver/program/keys';
import { layOut, measure } from '@palaver/program/screen';
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
  const { limit, cost } = measure([shown]);
  return { used: cost(shown), limit, isWide: !isGsm(shown) };
}

/** The screens of a state in a language, laid out as the service does. Values are shown as `{name}`. */
export function previewScreens(model: ProgramModel, { kind, raw }: ProgramState, language: string): string[] {
  if (typeof raw.text !== 'string') return [];
  const say = (key: unknown) => sayIn(model, key, language);
  const word = (key: string, otherwise: string) => (say(key) === key ? otherwise : say(key));
  const options = Array.isArray(raw.options) ? raw.options.map(toRecord) : [];
  const lines = options.map(({ key, text }, i) => ({ key: String(key ?? i + 1), label: say(text) }));
  const isEnd = kind === 'end';
  const line = (key: string, label: string) => (isEnd ? undefined : { key, label });
  const pages = layOut(
    { body: say(raw.text), lines },
    {
      more: { key: reservedKeys.more, label: word('common.more', 'More') },
      back: line(reservedKeys.back, word('common.back', 'Back')),
      exit: line(reservedKeys.exit, word('common.exit', 'Exit')),
      hasBack: !isEnd && raw.back !== false,
    },
  );
  return pages.map(({ text }) => text);
}
