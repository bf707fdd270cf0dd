'use client';

import { useState } from 'react';
import { useLatest } from '../react/use-latest.ts';
import type { OracleSessionsResult } from '../react/use-oracle-sessions.ts';
import { type Labels, nameIn } from './labels.ts';

export interface SessionsProps {
  list: OracleSessionsResult;
  /** The one that is open. */
  sessionId: string;
  onOpen(sessionId: string): void;
  labels: Labels;
}

/** The user's conversations: opens, creates and deletes them. */
export function Sessions({ list, sessionId, onOpen, labels }: SessionsProps) {
  const { sessions, createSession, deleteSession, hasMore, loadMore } = list;
  const openId = useLatest(sessionId);
  const [fault, setFault] = useState<Error>();
  const error = fault ?? list.error;
  async function attempt(work: () => Promise<void>): Promise<void> {
    setFault(undefined);
    await work().catch(setFault);
  }
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
      {error && <p role="alert">{error.message}</p>}
      <ul>
        {sessions.map(({ sessionId: id, title, lastUpdatedAt }) => (
          <li key={id}>
            <button type="button" aria-current={id === sessionId || undefined} dir="auto" onClick={() => onOpen(id)}>
              {title}
              <time dateTime={lastUpdatedAt}>
                {new Date(lastUpdatedAt).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })}
              </time>
            </button>
            <button
              type="button"
              aria-label={nameIn(labels.deleteSession, title)}
              onClick={() => void attempt(() => remove(id))}
            >
              ×
            </button>
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
