import {
  type ButtonHTMLAttributes,
  type ChangeEvent,
  type FormEvent,
  type FormHTMLAttributes,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { t } from '../i18n/text.ts';

type Attributes = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'>;

interface ButtonProps extends Attributes {
  text?: string;
  icon?: IconName;
  small?: boolean;
  main?: boolean;
  danger?: boolean;
}

export function Button({ text, icon, small, main, danger, type = 'button', children, ...rest }: ButtonProps) {
  const looks = ['button', small && 'button-small', main && 'button-main', danger && 'button-danger'];
  return (
    <button type={type} className={looks.filter(Boolean).join(' ')} {...rest}>
      {icon && <Icon name={icon} size={small ? 16 : 18} />}
      {text}
      {children}
    </button>
  );
}

type IconButtonProps = Attributes & { icon: IconName; label: string; size?: number };

export function IconButton({ icon, label, size, ...rest }: IconButtonProps) {
  return (
    <button type="button" className="icon-button" aria-label={label} {...rest}>
      <Icon name={icon} size={size} />
    </button>
  );
}

const paths = {
  tree: 'M12 21v-9m0 3-3-2.5M12 13l3-2.5M12 3a6.5 6.5 0 0 1 4.5 11.2H7.5A6.5 6.5 0 0 1 12 3Z',
  phone:
    'M8 2.75h8A1.25 1.25 0 0 1 17.25 4v16A1.25 1.25 0 0 1 16 21.25H8A1.25 1.25 0 0 1 6.75 20V4A1.25 1.25 0 0 1 8 2.75ZM9.5 6h5v4h-5zM10 13.5h.01M12 13.5h.01M14 13.5h.01M10 16.5h.01M12 16.5h.01M14 16.5h.01',
  programs: 'M4 4.500h6v5H4zM14 9.500h6v5h-6zM4 14.500h6v5H4zM10 7h2v10h-2M12 12h2',
  chat: 'M4 5.5h16v11H9.5L5 20v-3.5H4z',
  explorer: 'M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM15.2 15.2 20 20',
  operations: 'M4 19.5h16M6.5 16v-5M11 16V6.5M15.5 16v-3.5M20 16V9',
  system: 'M4 5h16v10.5H4zM9 20h6M12 15.5V20',
  light:
    'M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1.1 1.1M17.3 17.3l1.1 1.1M18.4 5.6l-1.1 1.1M6.7 17.3l-1.1 1.1',
  dark: 'M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10Z',
  erase: 'M9 6h11v12H9l-6-6zM12 9.500l5 5M17 9.500l-5 5',
  save: 'M12 4v10m0 0-4-4m4 4 4-4M5 19.500h14',
  replay: 'M5 12a7 7 0 1 0 2.300-5.200M5 4.500V8h3.500',
  copy: 'M9 9h10v11H9zM6 15H5V4h10v2',
  close: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  up: 'M12 19V5m0 0-6 6m6-6 6 6',
  down: 'M12 5v14m0 0 6-6m-6 6-6-6',
  trash: 'M5 7h14M10 7V4.500h4V7M7 7l.800 12.500h8.400L17 7',
  clip: 'M17.500 11.500 11 18a4 4 0 0 1-5.700-5.700l7.200-7.200a2.700 2.700 0 0 1 3.800 3.800l-7 7a1.300 1.300 0 0 1-1.900-1.900l6.300-6.300',
  send: 'M4.500 12 19.500 5l-4 14-4-5.500z',
  stop: 'M7 7h10v10H7z',
  help: 'M9.2 9.2a2.9 2.9 0 1 1 4.2 2.6c-.9.5-1.4 1-1.4 2M12 17h.01M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17Z',
  menu: 'M4 7h16M4 12h16M4 17h16',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <Button small icon="copy" onClick={() => void copy()} aria-live="polite">
      {isCopied ? t('app.copied') : label}
    </Button>
  );
}

export function TextButton({ text, onClick }: { text: string; onClick(text: string): void }) {
  return (
    <button type="button" className="link-button" onClick={() => onClick(text)}>
      {text}
    </button>
  );
}

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

interface FileButtonProps extends Pick<ButtonProps, 'icon' | 'small'> {
  text: string;
  label: string;
  accept: string;
  onFile(file: File): Promise<void>;
}

export function FileButton({ text, label, accept, icon, small, onFile }: FileButtonProps) {
  function take({ target }: ChangeEvent<HTMLInputElement>): void {
    const file = target.files?.[0];
    target.value = '';
    if (file) void onFile(file);
  }
  return (
    <label className={`button ${small ? 'button-small' : ''} file-button`}>
      {icon && <Icon name={icon} size={small ? 16 : 18} />}
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

/** The browser's own dialog keeps the focus, and Escape closes it. */
export function Modal({ title, onClose, children }: { title: string; onClose(): void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="modal panel" aria-labelledby={heading} onClose={onClose}>
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}

interface AskProps {
  title: string;
  text: string;
  disabled?: boolean;
  onConfirm(): void;
  onClose(): void;
}

export function Ask({ title, text, disabled, onConfirm, onClose }: AskProps) {
  return (
    <Modal title={title} onClose={onClose}>
      <p>{text}</p>
      <div className="actions">
        <Button text={title} main disabled={disabled} onClick={onConfirm} />
        <Button onClick={onClose}>{t('app.cancel')}</Button>
      </div>
    </Modal>
  );
}

export function download(name: string, content: BlobPart | BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob([content].flat(), { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
