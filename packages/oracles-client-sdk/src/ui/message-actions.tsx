'use client';

import { type FormEvent, useState } from 'react';
import type { Attachment } from '../core/wire.ts';
import { type Labels, nameIn } from './labels.ts';

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

/** Code in a frame, with its language. */
export function CodeBlock({ language, text, labels }: { language: string; text: string; labels: Labels }) {
  return (
    <figure className="palaver-code">
      <figcaption>
        {language}
        <CopyText text={text} labels={labels} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre tabIndex={0}>
        <code className={language ? `language-${language}` : undefined}>{text}</code>
      </pre>
    </figure>
  );
}

export interface VersionsProps {
  /** How many answers back from the latest one. */
  back: number;
  count: number;
  labels: Labels;
  onChoose(back: number): void;
}

/** Steps through the answers that one question got. */
export function Versions({ back, count, labels, onChoose }: VersionsProps) {
  const step = (to: number, name: string, sign: string) => (
    <button
      type="button"
      className="palaver-quiet"
      aria-label={name}
      disabled={to < 0 || to === count}
      onClick={() => onChoose(to)}
    >
      {sign}
    </button>
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a line cannot hold a fieldset.
    <span role="group" className="palaver-versions" aria-label={labels.versions}>
      {step(back + 1, labels.earlierAnswer, '‹')}
      <span aria-live="polite">
        {count - back}/{count}
      </span>
      {step(back - 1, labels.laterAnswer, '›')}
    </span>
  );
}

export interface SentFileProps {
  file: Attachment;
  labels: Labels;
  onDownload(fileId: string): Promise<Blob>;
}

/** The name of a file that was sent; its content, where the agent keeps it. */
export function SentFile({ file: { fileId, filename }, labels, onDownload }: SentFileProps) {
  if (!fileId) return <small>{filename}</small>;
  async function save(id: string): Promise<void> {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await onDownload(id));
    link.download = filename ?? id;
    link.click();
    // Browsers begin to read it after the click.
    setTimeout(() => URL.revokeObjectURL(link.href), shownMs);
  }
  return (
    <button
      type="button"
      className="palaver-quiet"
      aria-label={nameIn(labels.download, filename ?? fileId)}
      onClick={() => void save(fileId).catch(() => {})}
    >
      ↓ {filename ?? fileId}
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
