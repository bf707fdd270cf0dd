'use client';

import { useEffect, useState } from 'react';
import { useLatest } from '../react/use-latest.ts';
import type { OracleSessionsResult } from '../react/use-oracle-sessions.ts';
import type { Labels } from './labels.ts';
import { SessionRow } from './session-row.tsx';

export interface SessionsProps {
  list: OracleSessionsResult;
  /** The one that is open. */
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
    // Another one may have been opened meanwhile.
    if (id === openId.current) onOpen('');
  };
  return (
    <nav className="palaver-sessions" aria-label={labels.sessions}>
      <button type="button" className="palaver-button palaver-main" onClick={() => void attempt(create)}>
        {labels.newSession}
      </button>
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
          {error === list.error && (
            <button type="button" className="palaver-button" onClick={() => void attempt(list.refetch)}>
              {labels.retry}
            </button>
          )}
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
      {hasMore && (
        <button type="button" className="palaver-button" onClick={() => void attempt(loadMore)}>
          {labels.more}
        </button>
      )}
    </nav>
  );
}
