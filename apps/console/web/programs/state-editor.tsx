import { useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Icon } from '../ui/icon.tsx';
import { ConnectField } from './connect-field.tsx';
import { addOption, type ChangeFiles, removeState, renameState, setField, setText } from './edit-program.ts';
import { namePattern, Removable, TargetField, TextField } from './editor-fields.tsx';
import { LogicFields } from './logic-fields.tsx';
import { type Path, type ProgramModel, type ProgramState, toRecord } from './read-program.ts';
import { countText, previewScreens } from './screen-preview.ts';

interface EditorProps {
  model: ProgramModel;
  state: ProgramState;
  onChange: ChangeFiles;
  onSelect(state: string): void;
}

/** The fields of a state: its texts in all languages, its choices, what it asks, where it leads. */
export function StateEditor(props: EditorProps) {
  const { model, state, onChange, onSelect } = props;
  const { files } = model;
  const { text: message } = toRecord(state.raw.sms);
  const set = (path: Path, value: unknown) => onChange(() => setField(files, state, path, value));
  const rename = (name: string) => {
    if (onChange(() => renameState(files, state.name, name))) onSelect(name);
  };
  return (
    <div className="state-editor">
      <NameField key={state.name} name={state.name} onRename={rename} />
      {typeof state.raw.text === 'string' && (
        <Texts {...props} textKey={state.raw.text} isScreen label="programs.textIn" />
      )}
      {typeof message === 'string' && <Texts {...props} textKey={message} label="programs.messageIn" />}
      {state.kind === 'prompt' && <QuestionFields state={state} set={set} />}
      {Array.isArray(state.raw.options) && <Options {...props} set={set} />}
      {(state.kind === 'menu' || state.kind === 'page') && state.raw.from === undefined && (
        <button
          type="button"
          className="button button-small"
          onClick={() => onChange(() => addOption(files, model, state, model.start ?? state.name))}
        >
          <Icon name="plus" size={16} />
          {t('programs.addChoice')}
        </button>
      )}
      <Ways model={model} state={state} set={set} />
      {Array.isArray(state.raw.when) && <Conditions state={state} set={set} />}
      <LogicFields model={model} state={state} set={set} onChange={onChange} />
      <ConnectField key={`${state.name} connect`} model={model} state={state} onChange={onChange} />
      <button
        type="button"
        className="button button-small button-danger"
        disabled={state.name === model.start}
        onClick={() => {
          if (onChange(() => removeState(files, state))) onSelect('');
        }}
      >
        <Icon name="trash" size={16} />
        {t('programs.delete', { name: state.name })}
      </button>
    </div>
  );
}

type Set = (path: Path, value: unknown) => void;

function NameField({ name, onRename }: { name: string; onRename(name: string): void }) {
  const [value, setValue] = useState(name);
  return (
    <label className="field">
      <span>{t('programs.name')}</span>
      <input
        value={value}
        pattern={namePattern}
        onChange={(event) => setValue(event.target.value)}
        onBlur={(event) => event.target.validity.valid && value !== '' && onRename(value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.currentTarget.blur();
        }}
      />
    </label>
  );
}

interface TextsProps extends EditorProps {
  textKey: string;
  label: 'programs.textIn' | 'programs.messageIn';
  /** The text is that of the screen, not of a choice. */
  isScreen?: boolean;
}

/** A text in all languages side by side, each with what it takes of a screen. */
function Texts({ model, state, onChange, textKey, label, isScreen = false }: TextsProps) {
  const id = useId();
  return (
    <div className="texts-row">
      {model.languages.map((language) => {
        const text = model.texts.get(language)?.get(textKey) ?? '';
        const screens = isScreen ? previewScreens(model, state, language) : [text.trim()];
        const { used, limit } = countText(screens[0] ?? '');
        return (
          <div key={language} className="field">
            <label className="text-head" htmlFor={`${id}-${language}`}>
              <span>{t(label, { language })}</span>
              <span className={`numbers${used > limit ? ' over' : ''}`}>
                {used}/{limit}
                {screens.length > 1 && ` · ${t('programs.screens', { count: screens.length })}`}
              </span>
            </label>
            {isScreen ? (
              <textarea
                id={`${id}-${language}`}
                lang={language}
                dir="auto"
                rows={3}
                value={text}
                placeholder={t('programs.inherited')}
                onChange={(event) => onChange(() => setText(model.files, language, textKey, event.target.value))}
              />
            ) : (
              <input
                id={`${id}-${language}`}
                lang={language}
                dir="auto"
                value={text}
                placeholder={t('programs.inherited')}
                onChange={(event) => onChange(() => setText(model.files, language, textKey, event.target.value))}
              />
            )}
          </div>
        );
      })}
    </div>
  );
}

function Options(props: EditorProps & { set: Set }) {
  const { model, state, set } = props;
  const options = (state.raw.options as unknown[]).map(toRecord);
  const isQuestion = state.kind === 'prompt';
  return (
    <ol className="options-editor">
      {options.map((option, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a choice is known by its place
        <li key={i}>
          <fieldset>
            <legend>{t('programs.choice', { key: String(option.key ?? i + 1) })}</legend>
            {typeof option.text === 'string' && <Texts {...props} textKey={option.text} label="programs.textIn" />}
            {isQuestion ? (
              <TextField
                label={t('programs.value')}
                value={option.value}
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
            {!isQuestion && (
              <TextField
                label={t('programs.shownWhen')}
                value={option.when}
                onChange={(when) => set(['options', i, 'when'], when === '' ? undefined : when)}
              />
            )}
            <button
              type="button"
              className="button button-small"
              aria-label={t('programs.removeChoice', { key: i + 1 })}
              onClick={() => set(['options'], (state.raw.options as unknown[]).toSpliced(i, 1))}
            >
              <Icon name="close" size={16} />
              {t('programs.remove')}
            </button>
          </fieldset>
        </li>
      ))}
    </ol>
  );
}

const types = ['text', 'integer', 'decimal', 'date', 'phone', 'choice', 'choices'];

/** Numbers stay numbers in the file; `today` and dates are texts. */
function toLimit(value: string): number | string | undefined {
  if (value === '') return undefined;
  return Number.isNaN(Number(value)) ? value : Number(value);
}

function QuestionFields({ state, set }: { state: ProgramState; set: Set }) {
  const { raw } = state;
  return (
    <div className="field-row">
      {raw.validator === undefined && (
        <label className="field">
          <span>{t('programs.answerType')}</span>
          <select value={String(raw.type ?? '')} onChange={(event) => set(['type'], event.target.value)}>
            {[...new Set([...types, String(raw.type ?? 'text')])].map((type) => (
              <option key={type}>{type}</option>
            ))}
          </select>
        </label>
      )}
      {raw.validator === undefined && (
        <>
          <TextField label={t('programs.atLeast')} value={raw.min} onChange={(value) => set(['min'], toLimit(value))} />
          <TextField label={t('programs.atMost')} value={raw.max} onChange={(value) => set(['max'], toLimit(value))} />
        </>
      )}
      <TextField label={t('programs.savedAs')} value={raw.save} onChange={(value) => set(['save'], value)} />
      <TextField
        label={t('programs.askedWhen')}
        value={raw.when}
        onChange={(value) => set(['when'], value === '' ? undefined : value)}
      />
      <label className="check-field">
        <input
          type="checkbox"
          checked={raw.optional === true}
          onChange={(event) => set(['optional'], event.target.checked || undefined)}
        />
        {t('programs.maySkip')}
      </label>
    </div>
  );
}

/** Where the state leads, beside its choices. */
function Ways({ model, state, set }: { model: ProgramModel; state: ProgramState; set: Set }) {
  return state.links
    .filter(({ path }) => path[0] !== 'options')
    .map(({ to, label, path }) => {
      const field = (
        <TargetField
          key={path.join('.')}
          model={model}
          label={path[0] === 'to' ? t('programs.leadsTo') : t('programs.wayLeadsTo', { label })}
          value={to}
          onChange={(next) => set(path, next)}
        />
      );
      if (path[0] !== 'outcomes') return field;
      return (
        <Removable key={path.join('.')} name={label} onRemove={() => set(['outcomes', label], undefined)}>
          {field}
        </Removable>
      );
    });
}

/** The conditions of a branch, or those by which a reply has an outcome of its own. */
function Conditions({ state, set }: { state: ProgramState; set: Set }) {
  const conditions = (state.raw.when as unknown[]).map(toRecord);
  return conditions.map(({ that, outcome }, i) => {
    const label = t('programs.condition', { number: i + 1 });
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: a condition is known by its place
      <Removable key={i} name={label} onRemove={() => set(['when'], conditions.toSpliced(i, 1))}>
        <TextField label={label} value={that} onChange={(value) => set(['when', i, 'that'], value)} />
        {outcome !== undefined && (
          <TextField
            label={t('programs.outcomeOf', { number: i + 1 })}
            value={outcome}
            onChange={(value) => set(['when', i, 'outcome'], value)}
          />
        )}
      </Removable>
    );
  });
}
