import type { ChangeEvent } from 'react';

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
