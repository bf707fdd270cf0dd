import { type FormEvent, memo, type ReactNode, useEffect, useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { InputField, SelectField } from '../ui/fields.tsx';
import type { ProgramModel } from './read-program.ts';

/** Names of states, values and outcomes, as the service takes them. */
export const namePattern = '[A-Za-z][A-Za-z0-9]*';

interface FieldProps {
  label: string;
  value: unknown;
  onChange(value: string): void;
}

interface TextFieldProps extends FieldProps {
  pattern?: string;
  /** What a value looks like that `pattern` takes. */
  expects?: string;
}

/** Written to the program when the field is left: a half-typed expression is not checked. */
export function TextField({ label, value, onChange, ...rest }: TextFieldProps) {
  const given = value === undefined ? '' : String(value);
  const [typed, setTyped] = useState(given);
  useEffect(() => setTyped(given), [given]);
  return (
    <InputField
      label={label}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={({ target }) => typed !== given && target.validity.valid && onChange(typed)}
      {...rest}
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.currentTarget.blur();
      }}
    />
  );
}

interface ChoiceFieldProps extends FieldProps {
  choices: readonly string[];
}

/** The value in the file is offered too, even if it is not one of the known choices. */
export function ChoiceField({ label, value, choices, onChange }: ChoiceFieldProps) {
  const chosen = String(value ?? '');
  return (
    <SelectField label={label} value={chosen} onChange={(event) => onChange(event.target.value)}>
      <NameOptions names={[...new Set([...choices, chosen])].join('\n')} />
    </SelectField>
  );
}

interface RemovableProps {
  /** What is removed, for the button. */
  name: string;
  onRemove(): void;
  children: ReactNode;
}

export function Removable({ name, onRemove, children }: RemovableProps) {
  return (
    <div className="logic-entry">
      {children}
      <IconButton icon="close" size={16} label={t('programs.removeEntry', { name })} onClick={onRemove} />
    </div>
  );
}

export function TargetField({ model, label, value, onChange }: FieldProps & { model: ProgramModel }) {
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

/** One for each line. A text, because it is the same while names are: hundreds of states are then not drawn again. */
export const NameOptions = memo(function NameOptions({ names }: { names: string }) {
  return names.split('\n').map((name) => (
    <option key={name} value={name}>
      {name === '@resume' ? t('programs.resume') : name}
    </option>
  ));
});

interface AddNameProps {
  label: string;
  taken: readonly string[];
  /** Letters and digits when not given. */
  pattern?: string;
  expects?: string;
  onAdd(name: string): void;
}

/** A field for the name of another entry. */
export function AddName({ label, taken, pattern = namePattern, expects, onAdd }: AddNameProps) {
  const [name, setName] = useState('');
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (taken.includes(name)) return;
    onAdd(name);
    setName('');
  }
  return (
    <form className="try-answer" onSubmit={submit}>
      <InputField
        label={label}
        required
        pattern={pattern}
        expects={expects ?? t('programs.expectsName')}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Button type="submit" small icon="plus">
        {t('programs.add')}
      </Button>
    </form>
  );
}
