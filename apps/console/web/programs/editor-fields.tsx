import { memo, type ReactNode, useEffect, useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Icon } from '../ui/icon.tsx';
import type { ProgramModel } from './read-program.ts';

/** Names of states, values and outcomes, as the service takes them. */
export const namePattern = '[A-Za-z][A-Za-z0-9]*';

interface FieldProps {
  label: string;
  value: unknown;
  onChange(value: string): void;
}

/** Written to the program when the field is left: a half-typed expression is not checked. */
export function TextField({ label, value, onChange }: FieldProps) {
  const given = value === undefined ? '' : String(value);
  const [typed, setTyped] = useState(given);
  useEffect(() => setTyped(given), [given]);
  return (
    <label className="field">
      <span>{label}</span>
      <input
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={() => typed !== given && onChange(typed)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.currentTarget.blur();
        }}
      />
    </label>
  );
}

interface ChoiceFieldProps extends FieldProps {
  choices: readonly string[];
}

/** The value in the file is offered too, even if it is not one of the known choices. */
export function ChoiceField({ label, value, choices, onChange }: ChoiceFieldProps) {
  const chosen = String(value ?? '');
  return (
    <label className="field">
      <span>{label}</span>
      <select value={chosen} onChange={(event) => onChange(event.target.value)}>
        <NameOptions names={[...new Set([...choices, chosen])].join('\n')} />
      </select>
    </label>
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
      <button type="button" className="icon-button" aria-label={t('programs.removeEntry', { name })} onClick={onRemove}>
        <Icon name="close" size={16} />
      </button>
    </div>
  );
}

export function TargetField({ model, label, value, onChange }: FieldProps & { model: ProgramModel }) {
  const id = useId();
  const names = new Set([...model.states.keys(), ...model.outside, String(value ?? '')]);
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
  return names.split('\n').map((name) => <option key={name}>{name}</option>);
});
