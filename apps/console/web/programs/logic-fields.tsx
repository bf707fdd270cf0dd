import { t } from '../i18n/text.ts';
import { Button, CheckField } from '../ui/controls.tsx';
import { AddName, ChoiceField, Removable, TextField } from './editor-fields.tsx';
import { addRecordField } from './kept-answers.ts';
import { isOptional, recordKeywords, withOptionalParts } from './keywords.ts';
import { useSelectedState } from './program-context.ts';
import { type Path, type Raw, toRecord } from './read-program.ts';

const shownElsewhere = new Set([
  ...['kind', 'text', 'options', 'when', 'to', 'else', 'flow', 'do', 'outcomes', 'from', 'requires'],
  ...['type', 'min', 'max', 'optional', 'validator'],
]);
const openMaps = ['fields', 'values', 'take', 'body', 'headers', 'query', 'save', 'params'];

export function LogicFields() {
  const { model, files, state, set, change } = useSelectedState();
  const { raw, kind } = state;
  const all = withOptionalParts(raw);
  const entries = Object.entries(all).filter(
    ([name]) => !shownElsewhere.has(name) && !(kind === 'prompt' && (name === 'save' || name === 'check')),
  );
  const to = model.start ?? state.name;
  const condition = toNewCondition(kind, all, to);
  const records = Object.keys(model.records);
  const choices: Record<string, readonly string[]> = {
    ...Object.fromEntries(recordKeywords.map((keyword) => [keyword, records])),
    of: ['caller', 'everyone'],
    form: Object.keys(files).filter((path) => /^forms\/.+\.xml$/.test(path)),
  };
  const setOrRemove = (path: Path, value: unknown) =>
    set(path, value === '' && isOptional(raw, path) ? undefined : value);
  const add = (path: Path, name: string) =>
    path[0] === 'fields' && (raw.store ?? raw.update) !== undefined
      ? change(() => addRecordField(files, model, state, name))
      : set([...path, name], name);
  return (
    <>
      {entries.map(([name, value]) => (
        <ValueFields key={name} path={[name]} value={value} set={setOrRemove} add={add} choices={choices} />
      ))}
      {condition && (
        <Button
          text={t('programs.addCondition')}
          small
          icon="plus"
          onClick={() => set(['when'], [...(Array.isArray(raw.when) ? raw.when : []), condition])}
        />
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

function toNewCondition(kind: string, fields: Raw, to: string): Raw | undefined {
  if (kind === 'branch') return { that: 'true', to };
  return kind === 'action' && 'when' in fields ? { that: 'status == 409', outcome: 'failed' } : undefined;
}

interface ValueFieldsProps {
  path: Path;
  value: unknown;
  set(path: Path, value: unknown): void;
  add(path: Path, name: string): void;
  choices: Record<string, readonly string[]>;
}

function ValueFields(props: ValueFieldsProps) {
  const { path, value, set, choices } = props;
  const title = path.join(' › ');
  const name = String(path.at(-1));
  if (typeof value === 'boolean')
    return <CheckField label={title} checked={value} onChange={(isChecked) => set(path, isChecked)} />;
  // Other lists are edited as YAML.
  if (Array.isArray(value)) return null;
  if (typeof value === 'object' && value !== null) return <MapFields {...props} value={toRecord(value)} />;
  if (path.length === 1 && choices[name])
    return <ChoiceField label={title} value={value} choices={choices[name]} onChange={(chosen) => set(path, chosen)} />;
  return <TextField label={title} value={value ?? ''} onChange={(text) => set(path, toScalar(text, value))} />;
}

const methods = ['get', 'post'];

function MapFields(props: ValueFieldsProps & { value: Raw }) {
  const { path, value, set, add } = props;
  const name = String(path.at(-1));
  const isOpen = openMaps.includes(name);
  const method = name === 'http' ? methods.find((each) => each in value) : undefined;
  function setMethod(next: string): void {
    const given = Object.entries(value).filter(isGiven);
    set(path, Object.fromEntries(given.map(([key, each]) => [key === method ? next : key, each])));
  }
  return (
    <fieldset className="logic-map">
      <legend>{path.join(' › ')}</legend>
      {method !== undefined && (
        <ChoiceField label={t('programs.method')} value={method} choices={methods} onChange={setMethod} />
      )}
      {Object.entries(value).map(([key, each]) => {
        const fields = <ValueFields key={key} {...props} path={[...path, key]} value={each} />;
        if (!isOpen) return fields;
        return (
          <Removable key={key} name={[...path, key].join(' › ')} onRemove={() => set([...path, key], undefined)}>
            {fields}
          </Removable>
        );
      })}
      {isOpen && (
        <AddName
          label={t('programs.newEntry', { name })}
          taken={Object.keys(value)}
          {...(name === 'headers' && { pattern: '[A-Za-z][A-Za-z0-9\\-]*', expects: t('programs.expectsHeader') })}
          onAdd={(key) => add(path, key)}
        />
      )}
    </fieldset>
  );
}

/** Empty parts are only offered. */
const isGiven = ([, value]: [string, unknown]) =>
  value !== '' && !(typeof value === 'object' && Object.keys(value ?? {}).length === 0);

/** A number stays a number; digits in an empty field become one. */
function toScalar(text: string, before: unknown): string | number {
  const isNumber = typeof before === 'number' ? !Number.isNaN(Number(text)) : before === '' && /^\d+$/.test(text);
  return isNumber && text !== '' ? Number(text) : text;
}
