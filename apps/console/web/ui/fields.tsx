import type { ChangeEvent, InputHTMLAttributes, SelectHTMLAttributes } from 'react';

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

interface FileButtonProps {
  text: string;
  label: string;
  accept: string;
  onFile(file: File): Promise<void>;
}

/** A button that asks for a file of this device. */
export function FileButton({ text, label, accept, onFile }: FileButtonProps) {
  function take({ target }: ChangeEvent<HTMLInputElement>): void {
    const file = target.files?.[0];
    target.value = '';
    if (file) void onFile(file);
  }
  return (
    <label className="button file-button">
      {text}
      <input type="file" accept={accept} aria-label={label} onChange={take} />
    </label>
  );
}
