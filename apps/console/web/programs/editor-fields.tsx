import { memo, type ReactNode, useEffect, useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button, Form, IconButton, InputField, Options, SelectField } from '../ui/controls.tsx';
import { insertAfter, listPlaces } from './edit-flow.ts';
import { addState, connectStates } from './edit-program.ts';
import { type ActionKeyword, actionKeywords, newKinds, type StateKind } from './keywords.ts';
import { titleOf } from './kinds.ts';
import { toStateName } from './names.ts';
import { useProgram, useSelectedState } from './program-context.ts';
import { type ProgramModel, sayIn, sayLink } from './read-program.ts';

export const namePattern = '[A-Za-z][A-Za-z0-9]*';

interface FieldProps {
  label: string;
  value: unknown;
  onChange(value: string): void;
}

/** Changes the program when the field is left: a half-typed expression is not checked. */
export function TextField({ label, value, onChange, ...rest }: FieldProps & { pattern?: string; expects?: string }) {
  const given = value === undefined ? '' : String(value);
  const [typed, setTyped] = useState(given);
  useEffect(() => setTyped(given), [given]);
  return (
    <InputField
      label={label}
      value={typed}
      onChange={setTyped}
      onBlur={({ target }) => typed !== given && target.validity.valid && onChange(typed)}
      {...rest}
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.currentTarget.blur();
      }}
    />
  );
}

export function ChoiceField({ value, choices, ...rest }: FieldProps & { choices: readonly string[] }) {
  const chosen = String(value ?? '');
  return (
    <SelectField value={chosen} {...rest}>
      <NameOptions names={[...new Set([...choices, chosen])].join('\n')} />
    </SelectField>
  );
}

export function Removable({ name, onRemove, children }: { name: string; onRemove(): void; children: ReactNode }) {
  return (
    <div className="logic-entry">
      {children}
      <IconButton icon="close" size={16} label={t('programs.removeEntry', { name })} onClick={onRemove} />
    </div>
  );
}

export function TargetField({ label, value, onChange }: FieldProps) {
  const { model } = useProgram();
  const id = useId();
  const forms = [...model.states.values()].some(({ kind }) => kind === 'form') ? ['@resume'] : [];
  const names = new Set([...model.states.keys(), ...model.outside, ...forms, String(value ?? '')]);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={String(value ?? '')} onChange={(event) => onChange(event.target.value)}>
        <NameOptions names={[...names].join('\n')} />
      </select>
    </div>
  );
}

/** One name on each line: a text stays the same while the names do, so hundreds of options are not drawn again. */
const NameOptions = memo(function NameOptions({ names }: { names: string }) {
  return <Options of={names.split('\n').map((name) => [name, name === '@resume' ? t('programs.resume') : name])} />;
});

interface AddNameProps {
  label: string;
  taken: readonly string[];
  pattern?: string;
  expects?: string;
  onAdd(name: string): void;
}

export function AddName({ label, taken, pattern = namePattern, expects, onAdd }: AddNameProps) {
  const [name, setName] = useState('');
  function submit(): void {
    if (taken.includes(name)) return;
    onAdd(name);
    setName('');
  }
  return (
    <Form className="try-answer" onSubmit={submit}>
      <InputField
        label={label}
        required
        pattern={pattern}
        expects={expects ?? t('programs.expectsName')}
        value={name}
        onChange={setName}
      />
      <Button text={t('programs.add')} type="submit" small icon="plus" />
    </Form>
  );
}

interface SearchProps {
  found: ReadonlySet<string> | undefined;
  search: string;
  onSearch(search: string): void;
}

export function Search({ found, search, onSearch }: SearchProps) {
  const { model, select } = useProgram();
  return (
    <label className="field">
      <span>{t('programs.find')}</span>
      <input
        type="search"
        list="program-states"
        value={search}
        onChange={(event) => {
          onSearch(event.target.value);
          if (model.states.has(event.target.value)) select(event.target.value);
        }}
        onKeyDown={(event) => {
          const [first] = found ?? [];
          if (event.key === 'Enter' && first !== undefined) select(first);
        }}
      />
      <datalist id="program-states">
        <NameOptions names={[...model.states.keys()].join('\n')} />
      </datalist>
    </label>
  );
}

export function findStates(model: ProgramModel, search: string): Set<string> | undefined {
  const words = search.trim().toLowerCase();
  if (words === '') return undefined;
  const matches = [...model.states.values()].filter(({ name, raw }) =>
    [name, ...model.languages.map((language) => sayIn(model, raw.text, language))].some((text) =>
      text.toLowerCase().includes(words),
    ),
  );
  return new Set(matches.map(({ name }) => name));
}

/** Does what a line drawn on the map does, without a pointer. */
export function ConnectField() {
  const { model, files, state, change } = useSelectedState();
  const [to, setTo] = useState(model.start ?? state.name);
  if (state.kind === 'end' || state.kind === 'return') return null;
  return (
    <Form className="try-answer" onSubmit={() => change(() => connectStates(files, model, state.name, to))}>
      <TargetField label={t('programs.connectTo')} value={to} onChange={setTo} />
      <Button text={t('programs.connect')} type="submit" small />
    </Form>
  );
}

export function AddState() {
  const { model, selected, change, select } = useProgram();
  const [text, setText] = useState('');
  const [kind, setKind] = useState<StateKind>('prompt');
  const [keyword, setKeyword] = useState<ActionKeyword>('store');
  const [chosen, setChosen] = useState({ state: '', place: '' });
  const after = model.states.get(selected ?? '');
  const canFollow = after !== undefined && after.kind !== 'end' && after.kind !== 'return';
  const places = canFollow ? listPlaces(after) : [];
  const place = chosen.state === after?.name ? chosen.place : (places[0]?.[0] ?? '');
  function submit(): void {
    const name = toStateName(text.trim(), new Set([...model.states.keys(), ...model.outside]));
    const state = { name, kind, keyword, text: text.trim(), file: after?.file ?? 'program.yaml' };
    const ways = new Map(places).get(place);
    const add = () =>
      canFollow ? insertAfter(model.files, after.name, state, ways) : addState(model.files, model, state);
    if (!change(add)) return;
    select(name);
    setText('');
  }
  return (
    <Form className="add-state" onSubmit={submit}>
      <InputField
        label={canFollow ? t('programs.newStateAfter', { name: after.name }) : t('programs.newState')}
        required
        value={text}
        onChange={setText}
      />
      <SelectField
        label={t('programs.kind')}
        value={kind}
        onChange={setKind}
        options={newKinds.map((each) => [each, titleOf(each)])}
      />
      {canFollow && places.length > 1 && (
        <SelectField
          label={t('programs.where')}
          value={place}
          onChange={(next) => setChosen({ state: after.name, place: next })}
          options={places.map(([key, [way]]) => [
            key,
            way
              ? t('programs.between', { name: after.name, to: way.to, label: sayLink(model, way.label) })
              : t('programs.newChoiceOf', { name: after.name }),
          ])}
        />
      )}
      {kind === 'action' && (
        <SelectField
          label={t('programs.whatItDoes')}
          value={keyword}
          onChange={setKeyword}
          options={actionKeywords.map((each) => [each, t(`programs.does-${each}`)])}
        />
      )}
      <Button text={t('programs.add')} type="submit" icon="plus" />
    </Form>
  );
}
