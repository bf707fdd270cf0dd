import { useEffect, useId, useState } from 'react';
import type { ProgramModel } from './read-program.ts';

interface FieldProps {
  label: string;
  value: unknown;
  onChange(value: string): void;
}

/** Written to the program when the field is left: half an expression is a fault to nobody. */
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

export function TargetField({ model, label, value, onChange }: FieldProps & { model: ProgramModel }) {
  const id = useId();
  const names = [...new Set([...model.states.keys(), ...model.outside, String(value ?? '')])];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={String(value ?? '')} onChange={(event) => onChange(event.target.value)}>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  );
}
