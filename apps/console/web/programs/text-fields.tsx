import { toShowable } from '@palaver/program/gsm';
import { reservedKeys } from '@palaver/program/keys';
import { layOut, measure } from '@palaver/program/screen';
import { useId } from 'react';
import { t } from '../i18n/text.ts';
import { setText } from './edit-program.ts';
import { useProgram } from './program-context.ts';
import { type ProgramModel, type ProgramState, sayIn, toRecord } from './read-program.ts';

interface TextsProps {
  textKey: string;
  label: 'programs.textIn' | 'programs.messageIn' | 'programs.hintIn';
  /** The state whose screen the text is; a choice or a hint is counted alone. */
  screenOf?: ProgramState;
}

export function Texts({ textKey, label, screenOf }: TextsProps) {
  const { model, change } = useProgram();
  const id = useId();
  return (
    <div className="texts-row">
      {model.languages.map((language) => {
        const text = model.texts.get(language)?.get(textKey) ?? '';
        const screens = screenOf ? previewScreens(model, screenOf, language) : [text.trim()];
        const other = sayIn(model, textKey);
        const props = {
          id: `${id}-${language}`,
          lang: language,
          dir: 'auto',
          value: text,
          // What is to be translated; an inherited text has no words here.
          placeholder: other === textKey ? t('programs.inherited') : other,
          onChange: ({ target }: { target: { value: string } }) =>
            void change(() => setText(model.files, language, textKey, target.value)),
        };
        return (
          <div key={language} className="field">
            <label className="text-head" htmlFor={props.id}>
              <span>{t(label, { language })}</span>
              <ScreenUse screens={screens} />
            </label>
            {screenOf ? <textarea rows={3} {...props} /> : <input {...props} />}
          </div>
        );
      })}
    </div>
  );
}

export function countText(text: string): { used: number; limit: number } {
  const shown = toShowable(text);
  const { limit, cost } = measure([shown]);
  return { used: cost(shown), limit };
}

export function ScreenUse({ screens, className = '' }: { screens: readonly string[]; className?: string }) {
  const { used, limit } = countText(screens[0] ?? '');
  return (
    <span className={`numbers ${used > limit ? 'over' : className}`}>
      {used}/{limit}
      {screens.length > 1 && ` · ${t('programs.screens', { count: screens.length })}`}
    </span>
  );
}

/** Laid out as the service does it; values are shown as `{name}`. */
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
