'use client';

import { type FormEvent, useState } from 'react';
import type { Session } from '../core/wire.ts';
import { type Labels, nameIn } from './labels.ts';

export interface SessionRowProps {
  session: Session;
  isOpen: boolean;
  labels: Labels;
  onOpen(): void;
  onRename(title: string): Promise<void>;
  onDelete(): Promise<void>;
}

const longestTitle = 200;

/** One conversation: opens it, gives it another name, and deletes it once that is confirmed. */
export function SessionRow({ session, isOpen, labels, onOpen, onRename, onDelete }: SessionRowProps) {
  const { title, lastUpdatedAt } = session;
  const [mode, setMode] = useState<'shown' | 'renaming' | 'deleting'>('shown');
  const show = () => setMode('shown');

  function rename(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('title') ?? '').trim();
    show();
    if (name && name !== title) void onRename(name);
  }

  if (mode === 'renaming') {
    return (
      <form onSubmit={rename} onKeyDown={({ key }) => key === 'Escape' && show()}>
        <input
          name="title"
          className="palaver-field"
          dir="auto"
          maxLength={longestTitle}
          defaultValue={title}
          aria-label={nameIn(labels.renameSession, title)}
          // biome-ignore lint/a11y/noAutofocus: the user has just asked for this field.
          autoFocus
        />
        <button type="submit" className="palaver-button">
          {labels.save}
        </button>
      </form>
    );
  }
  if (mode === 'deleting') {
    return (
      <fieldset className="palaver-confirm" onKeyDown={({ key }) => key === 'Escape' && show()}>
        <legend>{nameIn(labels.confirmDelete, title)}</legend>
        <button type="button" className="palaver-button palaver-danger" onClick={() => void onDelete().finally(show)}>
          {labels.confirm}
        </button>
        {/* biome-ignore lint/a11y/noAutofocus: the question replaces the button that had the focus. */}
        <button type="button" className="palaver-button" onClick={show} autoFocus>
          {labels.cancel}
        </button>
      </fieldset>
    );
  }
  return (
    <>
      <button type="button" aria-current={isOpen || undefined} dir="auto" onClick={onOpen}>
        {title}
        <time dateTime={lastUpdatedAt}>
          {new Date(lastUpdatedAt).toLocaleString(labels.language || [], { dateStyle: 'medium', timeStyle: 'short' })}
        </time>
      </button>
      <button type="button" aria-label={nameIn(labels.renameSession, title)} onClick={() => setMode('renaming')}>
        <span aria-hidden="true">✎</span>
      </button>
      <button type="button" aria-label={nameIn(labels.deleteSession, title)} onClick={() => setMode('deleting')}>
        <span aria-hidden="true">×</span>
      </button>
    </>
  );
}
