import { t } from '../i18n/text.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { ConditionField } from './condition-field.tsx';
import { addOption, type ChangeFiles, dropTexts, setField } from './edit-program.ts';
import { TargetField, TextField } from './editor-fields.tsx';
import { toValue } from './names.ts';
import {
  type Path,
  type ProgramModel,
  type ProgramState,
  type Raw,
  readProgram,
  sayIn,
  toRecord,
} from './read-program.ts';
import { Texts } from './text-fields.tsx';

interface ChoiceFieldsProps {
  model: ProgramModel;
  state: ProgramState;
  onChange: ChangeFiles;
  set(path: Path, value: unknown): void;
}

/** The choices of a menu, a page or a question: words, where each leads or what it is kept as, and when it is offered. */
export function ChoiceFields({ model, state, onChange, set }: ChoiceFieldsProps) {
  const options = (Array.isArray(state.raw.options) ? state.raw.options : []).map(toRecord);
  const { files } = model;
  const isQuestion = state.kind === 'prompt';
  const place = (next: Raw[]) =>
    onChange(() =>
      dropTexts(setField(files, state, ['options'], next.length > 0 ? next : undefined), readProgram(files)),
    );
  /** A value that was made of the words follows them. */
  const nameAfter = (i: number) => {
    const { value, text } = options[i] ?? {};
    const others = new Set(options.filter((_, at) => at !== i).map((option) => String(option.value)));
    if (isQuestion && /^choice\d*$/.test(String(value)))
      set(['options', i, 'value'], toValue(sayIn(model, text), others));
  };
  return (
    <>
      {options.length > 0 && (
        <ol className="options-editor">
          {options.map((option, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a choice is known by its place
            <li key={i}>
              <fieldset onBlur={({ target }) => target.matches('.texts-row input') && nameAfter(i)}>
                <legend>{t('programs.choice', { key: String(option.key ?? i + 1) })}</legend>
                {typeof option.text === 'string' && (
                  <Texts model={model} onChange={onChange} textKey={option.text} label="programs.textIn" />
                )}
                {isQuestion ? (
                  <TextField
                    label={t('programs.keptAs')}
                    value={option.value}
                    expects={t('programs.expectsWord')}
                    pattern="\S{1,60}"
                    onChange={(value) => set(['options', i, 'value'], value)}
                  />
                ) : (
                  <TargetField
                    model={model}
                    label={t('programs.leadsTo')}
                    value={option.to}
                    onChange={(to) => set(['options', i, 'to'], to)}
                  />
                )}
                <details open={option.when !== undefined}>
                  <summary>{t('programs.shownWhen')}</summary>
                  <ConditionField
                    model={model}
                    label={t('programs.shownWhen')}
                    value={option.when}
                    onChange={(when) => set(['options', i, 'when'], when === '' ? undefined : when)}
                  />
                </details>
                <div className="actions">
                  <IconButton
                    icon="up"
                    label={t('programs.choiceUp', { key: i + 1 })}
                    disabled={i === 0}
                    onClick={() => place(swap(options, i, i - 1))}
                  />
                  <IconButton
                    icon="down"
                    label={t('programs.choiceDown', { key: i + 1 })}
                    disabled={i === options.length - 1}
                    onClick={() => place(swap(options, i, i + 1))}
                  />
                  <Button
                    small
                    icon="close"
                    aria-label={t('programs.removeChoice', { key: i + 1 })}
                    onClick={() => place(options.toSpliced(i, 1))}
                  >
                    {t('programs.remove')}
                  </Button>
                </div>
              </fieldset>
            </li>
          ))}
        </ol>
      )}
      <Button
        small
        icon="plus"
        onClick={() =>
          onChange(() => addOption(files, model, state, isQuestion ? undefined : (model.start ?? state.name)))
        }
      >
        {t('programs.addChoice')}
      </Button>
    </>
  );
}

function swap(options: Raw[], one: number, other: number): Raw[] {
  const [a, b] = [options[one], options[other]];
  return a && b ? options.with(one, b).with(other, a) : options;
}
