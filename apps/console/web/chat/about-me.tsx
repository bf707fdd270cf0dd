import { useOraclesContext } from '@palaver/oracles-client-sdk';
import { useQuery } from '@tanstack/react-query';
import { toServicePath } from '../api/call-service.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { download } from '../ui/download.ts';
import type { Identity } from './identity.ts';
import type { MatrixSession } from './matrix-session.ts';
import { MemoryPanel } from './memory-panel.tsx';

interface AboutMeProps {
  identity: Identity;
  oracleDid: string;
  /** How many turns have ended: each may have changed what is kept. */
  turns: number;
  matrix: MatrixSession;
  onMatrix(matrix: MatrixSession): void;
  onSignOut(): void;
}

/** Who the agent takes the user for, and what it keeps. */
export function AboutMe({ identity, oracleDid, turns, matrix, onMatrix, onSignOut }: AboutMeProps) {
  return (
    <aside className="chat-about panel" aria-label="About you">
      <section>
        <h2>You</h2>
        <p className="small break">
          <code>{identity.did}</code>
        </p>
        <div className="actions">
          <CopyButton text={identity.did} label="Copy DID" />
          {identity.kind === 'key' && (
            <button
              type="button"
              className="button button-small"
              onClick={() => download('palaver-key.txt', `${identity.credential}\n`, 'text/plain')}
            >
              Export key
            </button>
          )}
          <button type="button" className="button button-small button-danger" onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </section>
      <Preferences oracleDid={oracleDid} turns={turns} />
      <MemoryPanel oracleDid={oracleDid} turns={turns} />
      <details>
        <summary>Matrix session, for attachments</summary>
        <div className="matrix-fields">
          <label className="field">
            <span>Homeserver</span>
            <input
              type="url"
              placeholder="https://matrix.example"
              value={matrix.homeServer}
              onChange={(event) => onMatrix({ ...matrix, homeServer: event.target.value })}
            />
          </label>
          <label className="field">
            <span>Access token</span>
            <input
              type="password"
              autoComplete="off"
              value={matrix.accessToken}
              onChange={(event) => onMatrix({ ...matrix, accessToken: event.target.value })}
            />
          </label>
        </div>
      </details>
    </aside>
  );
}

function Preferences({ oracleDid, turns }: { oracleDid: string; turns: number }) {
  const { createTransport, wallet } = useOraclesContext();
  const query = useQuery({
    queryKey: ['preferences', wallet.did, oracleDid, turns],
    placeholderData: (before) => before,
    queryFn: async () => {
      const transport = createTransport(oracleDid, window.location.origin + toServicePath('agent', ''));
      const { preferences } = await transport.json<{ preferences: Record<string, string> }>('/user-preferences');
      return preferences;
    },
  });
  const { updatedAt: _, ...preferences } = query.data ?? {};
  const entries = Object.entries(preferences);
  return (
    <section>
      <h2>Preferences</h2>
      {query.error ? (
        <p className="notice notice-danger">{query.error.message}</p>
      ) : entries.length === 0 ? (
        <p className="empty">None yet. Say “call me Ana” or “from now on answer in French”.</p>
      ) : (
        <dl className="facts">
          {entries.map(([name, value]) => (
            <div key={name} className="facts-row">
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
