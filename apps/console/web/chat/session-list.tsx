import type { OracleSessionsResult } from '@palaver/oracles-client-sdk';
import { Icon } from '../ui/icon.tsx';

interface SessionListProps {
  list: OracleSessionsResult;
  openId: string | undefined;
  onNew(): void;
  onOpen(sessionId: string): void;
  onDelete(sessionId: string): void;
}

export function SessionList({ list, openId, onNew, onOpen, onDelete }: SessionListProps) {
  return (
    <section className="chat-sessions panel" aria-label="Sessions">
      <button type="button" className="button button-main" onClick={onNew}>
        <Icon name="plus" size={18} />
        New session
      </button>
      <ul>
        {list.sessions.map(({ sessionId, title, lastUpdatedAt }) => (
          <li key={sessionId} className="session-row">
            <button
              type="button"
              className="session-open"
              aria-current={sessionId === openId ? 'true' : undefined}
              onClick={() => onOpen(sessionId)}
            >
              <span>{title}</span>
              <small>{new Date(lastUpdatedAt).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })}</small>
            </button>
            <button
              type="button"
              className="icon-button"
              aria-label={`Delete the session “${title}”`}
              onClick={() => onDelete(sessionId)}
            >
              <Icon name="trash" size={18} />
            </button>
          </li>
        ))}
      </ul>
      {list.hasMore && (
        <button type="button" className="button button-small" onClick={() => void list.loadMore()}>
          Older sessions
        </button>
      )}
    </section>
  );
}
