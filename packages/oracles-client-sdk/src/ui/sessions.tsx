'use client';

import { type FormEvent, useEffect, useState } from 'react';
import type { Session } from '../core/wire.ts';
import { useLatest } from '../react/use-load.ts';
import type { OracleSessionsResult } from '../react/use-oracle-sessions.ts';
import { Button } from './button.tsx';
import { type Labels, nameIn } from './labels.ts';

export interface SessionsProps {
  list: OracleSessionsResult;
  sessionId: string;
  onOpen(sessionId: string): void;
  labels: Labels;
}

/** The user's conversations: finds, opens, creates, renames and deletes them. */
export function Sessions({ list, sessionId, onOpen, labels }: SessionsProps) {
  const { sessions, createSession, renameSession, deleteSession, hasMore, loadMore } = list;
  const openId = useLatest(sessionId);
  const [search, setSearch] = useState('');
  const wanted = search.trim().toLowerCase();
  const found = sessions.filter(({ title }) => title.toLowerCase().includes(wanted));
  const [fault, setFault] = useState<Error>();
  const error = fault ?? list.error;
  async function attempt(work: () => Promise<void>): Promise<void> {
    setFault(undefined);
    await work().catch(setFault);
  }
  // What is looked for may be on a page that is not loaded yet.
  const isSearching = wanted !== '' && hasMore;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is asked for once the one before has come.
  useEffect(() => {
    if (isSearching) void loadMore().catch(setFault);
  }, [isSearching, sessions.length]);
  const create = async () => onOpen((await createSession()).sessionId);
  const remove = async (id: string) => {
    await deleteSession(id);
    if (id === openId.current) onOpen('');
  };
  return (
    <nav className="palaver-sessions" aria-label={labels.sessions}>
      <Button className="palaver-button palaver-main" label={labels.newSession} onClick={() => void attempt(create)} />
      {sessions.length > 0 && (
        <input
          type="search"
          className="palaver-field"
          value={search}
          aria-label={labels.searchSessions}
          placeholder={labels.searchSessions}
          onChange={(event) => setSearch(event.target.value)}
        />
      )}
      {error && (
        <p role="alert">
          {error.message}{' '}
          {error === list.error && <Button label={labels.retry} onClick={() => void attempt(list.refetch)} />}
        </p>
      )}
      <ul>
        {found.map((session) => (
          <li key={session.sessionId}>
            <SessionRow
              session={session}
              isOpen={session.sessionId === sessionId}
              labels={labels}
              onOpen={() => onOpen(session.sessionId)}
              onRename={(title) => attempt(() => renameSession(session.sessionId, title))}
              onDelete={() => attempt(() => remove(session.sessionId))}
            />
          </li>
        ))}
      </ul>
      {hasMore && <Button label={labels.more} onClick={() => void attempt(loadMore)} />}
    </nav>
  );
}

interface SessionRowProps {
  session: Session;
  isOpen: boolean;
  labels: Labels;
  onOpen(): void;
  onRename(title: string): Promise<void>;
  onDelete(): Promise<void>;
}

const longestTitle = 200;

function SessionRow({ session, isOpen, labels, onOpen, onRename, onDelete }: SessionRowProps) {
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
        <Button type="submit" label={labels.save} />
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
        {/* The question replaces the button that had the focus. */}
        <Button label={labels.cancel} onClick={show} autoFocus />
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
