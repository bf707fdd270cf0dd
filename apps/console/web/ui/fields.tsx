import type { InputHTMLAttributes, SelectHTMLAttributes } from 'react';

type InputProps = InputHTMLAttributes<HTMLInputElement> & {
  label: string;
  /** What a value looks like that `pattern` takes. */
  expects?: string;
};

/** An input with its label above it, and below it what it expects, once something else was typed. */
export function InputField({ label, expects = '', ...rest }: InputProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        // An empty field has refused nothing: the styles recognise it by this.
        placeholder=" "
        onInput={({ currentTarget }) => currentTarget.setCustomValidity('')}
        // The browser's own words do not name the format.
        onInvalid={({ currentTarget }) => {
          if (currentTarget.validity.patternMismatch) currentTarget.setCustomValidity(expects);
        }}
        {...rest}
      />
      {expects && <small className="expects">{expects}</small>}
    </label>
  );
}

/** A choice with its label above it. */
export function SelectField({ label, ...rest }: SelectHTMLAttributes<HTMLSelectElement> & { label: string }) {
  return (
    <label className="field">
      <span>{label}</span>
      <select {...rest} />
    </label>
  );
}

interface CheckProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> {
  label: string;
  onChange(isChecked: boolean): void;
}

export function CheckField({ label, onChange, ...rest }: CheckProps) {
  return (
    <label className="check-field">
      <input type="checkbox" onChange={(event) => onChange(event.target.checked)} {...rest} />
      {label}
    </label>
  );
}
