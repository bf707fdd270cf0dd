import { useId } from 'react';
import { t } from '../i18n/text.ts';
import { type ChangeFiles, setText } from './edit-program.ts';
import { type ProgramModel, type ProgramState, sayIn } from './read-program.ts';
import { countText, previewScreens } from './screen-preview.ts';

interface TextsProps {
  model: ProgramModel;
  onChange: ChangeFiles;
  textKey: string;
  label: 'programs.textIn' | 'programs.messageIn' | 'programs.hintIn';
  /** The state whose screen the text is; a choice or a hint is counted alone. */
  screenOf?: ProgramState;
}

/** A text in all languages side by side, each with what it takes of a screen. */
export function Texts({ model, onChange, textKey, label, screenOf }: TextsProps) {
  const id = useId();
  return (
    <div className="texts-row">
      {model.languages.map((language) => {
        const text = model.texts.get(language)?.get(textKey) ?? '';
        const screens = screenOf ? previewScreens(model, screenOf, language) : [text.trim()];
        const { used, limit } = countText(screens[0] ?? '');
        const other = sayIn(model, textKey);
        const props = {
          id: `${id}-${language}`,
          lang: language,
          dir: 'auto',
          value: text,
          // What is to be translated; a text of the program that this one extends has no words here.
          placeholder: other === textKey ? t('programs.inherited') : other,
          onChange: ({ target }: { target: { value: string } }) =>
            void onChange(() => setText(model.files, language, textKey, target.value)),
        };
        return (
          <div key={language} className="field">
            <label className="text-head" htmlFor={props.id}>
              <span>{t(label, { language })}</span>
              <span className={`numbers${used > limit ? ' over' : ''}`}>
                {used}/{limit}
                {screens.length > 1 && ` · ${t('programs.screens', { count: screens.length })}`}
              </span>
            </label>
            {screenOf ? <textarea rows={3} {...props} /> : <input {...props} />}
          </div>
        );
      })}
    </div>
  );
}
