import { type FormEvent, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Icon } from '../ui/icon.tsx';
import { TextField } from './editor-fields.tsx';
import { type Path, type ProgramModel, type ProgramState, type Raw, toRecord } from './read-program.ts';

interface LogicFieldsProps {
  model: ProgramModel;
  state: ProgramState;
  set(path: Path, value: unknown): void;
}

/** What other parts of the editor show: texts, choices, questions, and where the state leads. */
const shownElsewhere = new Set([
  ...['kind', 'text', 'options', 'when', 'to', 'else', 'flow', 'do', 'outcomes'],
  ...['type', 'min', 'max', 'save', 'optional', 'validator'],
]);
/** Maps whose names the author chooses. */
const openMaps = ['fields', 'values', 'take', 'body', 'headers', 'query', 'save', 'params'];

/** The other fields of actions, branches, forms and the like, each on its own. */
export function LogicFields({ model, state, set }: LogicFieldsProps) {
  const { raw, kind } = state;
  // A form without `take` still offers it.
  const entries = Object.entries(kind === 'form' ? { take: {}, ...raw } : raw).filter(
    ([name]) => !shownElsewhere.has(name),
  );
  const to = model.start ?? state.name;
  return (
    <>
      {entries.map(([name, value]) => (
        <ValueFields key={name} path={[name]} value={value} set={set} />
      ))}
      {kind === 'branch' && (
        <button
          type="button"
          className="button button-small"
          onClick={() => set(['when'], [...(Array.isArray(raw.when) ? raw.when : []), { that: 'true', to }])}
        >
          <Icon name="plus" size={16} />
          {t('programs.addCondition')}
        </button>
      )}
      {kind === 'action' && (
        <AddName
          label={t('programs.newOutcome')}
          taken={Object.keys(toRecord(raw.outcomes))}
          onAdd={(name) => set(['outcomes', name], to)}
        />
      )}
    </>
  );
}

interface ValueFieldsProps {
  path: Path;
  value: unknown;
  set(path: Path, value: unknown): void;
}

function ValueFields({ path, value, set }: ValueFieldsProps) {
  const title = path.join(' › ');
  const name = String(path.at(-1));
  if (typeof value === 'boolean')
    return (
      <label className="check-field">
        <input type="checkbox" checked={value} onChange={(event) => set(path, event.target.checked)} />
        {title}
      </label>
    );
  // Lists are edited as YAML.
  if (Array.isArray(value)) return null;
  if (typeof value === 'object' && value !== null) {
    const inner: Raw = toRecord(value);
    return (
      <fieldset className="logic-map">
        <legend>{title}</legend>
        {Object.entries(inner).map(([key, each]) => (
          <div key={key} className="logic-entry">
            <ValueFields path={[...path, key]} value={each} set={set} />
            {openMaps.includes(name) && (
              <button
                type="button"
                className="icon-button"
                aria-label={t('programs.removeEntry', { name: [...path, key].join(' › ') })}
                onClick={() => set([...path, key], undefined)}
              >
                <Icon name="close" size={16} />
              </button>
            )}
          </div>
        ))}
        {openMaps.includes(name) && (
          <AddName
            label={t('programs.newEntry', { name })}
            taken={Object.keys(inner)}
            onAdd={(key) => set([...path, key], key)}
          />
        )}
      </fieldset>
    );
  }
  return <TextField label={title} value={value ?? ''} onChange={(text) => set(path, toScalar(text, value))} />;
}

/** A number stays a number. */
function toScalar(text: string, before: unknown): string | number {
  return typeof before === 'number' && text !== '' && !Number.isNaN(Number(text)) ? Number(text) : text;
}

interface AddNameProps {
  label: string;
  taken: string[];
  onAdd(name: string): void;
}

function AddName({ label, taken, onAdd }: AddNameProps) {
  const [name, setName] = useState('');
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (taken.includes(name)) return;
    onAdd(name);
    setName('');
  }
  return (
    <form className="try-answer" onSubmit={submit}>
      <label className="field">
        <span>{label}</span>
        <input
          required
          pattern="[A-Za-z][A-Za-z0-9_]*"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <button type="submit" className="button button-small">
        <Icon name="plus" size={16} />
        {t('programs.add')}
      </button>
    </form>
  );
}
