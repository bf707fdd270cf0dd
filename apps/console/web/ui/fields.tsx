import type { ChangeEvent, FormEvent, FormHTMLAttributes, InputHTMLAttributes, SelectHTMLAttributes } from 'react';

interface InputProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> {
  label: string;
  expects?: string;
  onChange?(value: string): void;
}

/** What it expects is shown below it once something else was typed. */
export function InputField({ label, expects = '', onChange, ...rest }: InputProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        // The styles recognise an empty field by this: it has refused nothing.
        placeholder=" "
        onChange={onChange && (({ target }) => onChange(target.value))}
        onInput={({ currentTarget }) => currentTarget.setCustomValidity('')}
        // The browser's own words do not name the format.
        onInvalid={({ currentTarget }) => {
          const { patternMismatch, valueMissing } = currentTarget.validity;
          if (patternMismatch || valueMissing) currentTarget.setCustomValidity(expects);
        }}
        {...rest}
      />
      {expects && <small className="expects">{expects}</small>}
    </label>
  );
}

interface SelectProps<Value extends string> extends Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange'> {
  label: string;
  value: Value;
  /** Follow the children; a plain value is its own title. */
  options?: readonly (NoInfer<Value> | readonly [value: NoInfer<Value>, title: string])[] | undefined;
  onChange(value: NoInfer<Value>): void;
}

export function SelectField<Value extends string>(props: SelectProps<Value>) {
  const { label, options = [], onChange, children, ...rest } = props;
  return (
    <label className="field">
      <span>{label}</span>
      <select onChange={({ target }) => onChange(target.value as Value)} {...rest}>
        {children}
        <Options of={options} />
      </select>
    </label>
  );
}

export function Options({ of: options }: { of: readonly (string | readonly [value: string, title: string])[] }) {
  return options.map((option) => {
    const [value, title] = typeof option === 'string' ? [option, option] : option;
    return (
      <option key={value} value={value}>
        {title}
      </option>
    );
  });
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

type FormProps = Omit<FormHTMLAttributes<HTMLFormElement>, 'onSubmit'> & { onSubmit(): unknown };

export function Form({ onSubmit, ...rest }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void onSubmit();
  };
  return <form onSubmit={submit} {...rest} />;
}
