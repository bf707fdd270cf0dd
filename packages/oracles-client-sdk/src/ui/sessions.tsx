'use client';

import type { OracleSessionsResult } from '../react/use-oracle-sessions.ts';
import type { Labels } from './labels.ts';

export interface SessionsProps {
  list: OracleSessionsResult;
  /** The one that is open. */
  sessionId: string;
  onOpen(sessionId: string): void;
  labels: Labels;
}

/** The user's conversations: opens, creates and deletes them. */
export function Sessions({ list, sessionId, onOpen, labels }: SessionsProps) {
  const { sessions, createSession, deleteSession, hasMore, loadMore, error } = list;
  const ignore = () => {};
  return (
    <nav className="palaver-sessions" aria-label={labels.sessions}>
      <button
        type="button"
        className="palaver-button palaver-main"
        onClick={() => void createSession().then((session) => onOpen(session.sessionId), ignore)}
      >
        {labels.newSession}
      </button>
      {error && <p role="alert">{error.message}</p>}
      <ul>
        {sessions.map(({ sessionId: id, title }) => (
          <li key={id}>
            <button type="button" aria-current={id === sessionId || undefined} dir="auto" onClick={() => onOpen(id)}>
              {title}
            </button>
            <button
              type="button"
              aria-label={`${labels.deleteSession}: ${title}`}
              onClick={() =>
                void deleteSession(id).then(() => {
                  if (id === sessionId) onOpen('');
                }, ignore)
              }
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      {hasMore && (
        <button type="button" className="palaver-button" onClick={() => void loadMore().catch(ignore)}>
          {labels.more}
        </button>
      )}
    </nav>
  );
}
