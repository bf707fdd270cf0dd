'use client';

import { type FormEvent, useState } from 'react';
import type { Labels } from './labels.ts';

const shownMs = 1_500;

/** Puts the text of a message on the clipboard, where the browser lets the page. */
export function CopyText({ text, labels }: { text: string; labels: Labels }) {
  const [isCopied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), shownMs);
  }
  return (
    <button type="button" className="palaver-quiet" onClick={() => void copy().catch(() => {})}>
      <span aria-live="polite">{isCopied ? labels.copied : labels.copy}</span>
    </button>
  );
}

export interface EditMessageProps {
  text: string;
  labels: Labels;
  onSend(text: string): void;
  onCancel(): void;
}

/** Other words for a question that was sent. */
export function EditMessage({ text, labels, onSend, onCancel }: EditMessageProps) {
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const changed = String(new FormData(event.currentTarget).get('text') ?? '').trim();
    if (changed) onSend(changed);
  }
  return (
    <form className="palaver-edit" onSubmit={submit} onKeyDown={({ key }) => key === 'Escape' && onCancel()}>
      <textarea
        name="text"
        className="palaver-field"
        dir="auto"
        rows={Math.min(text.split('\n').length + 1, 8)}
        defaultValue={text}
        aria-label={labels.edit}
        // biome-ignore lint/a11y/noAutofocus: the user has just asked for this field.
        autoFocus
      />
      <button type="submit" className="palaver-button palaver-main">
        {labels.resend}
      </button>
      <button type="button" className="palaver-button" onClick={onCancel}>
        {labels.cancel}
      </button>
    </form>
  );
}
