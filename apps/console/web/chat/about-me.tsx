import { useOraclesContext } from '@palaver/oracles-client-sdk';
import { useQuery } from '@tanstack/react-query';
import { toServicePath } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Fault } from '../ui/fault.tsx';
import { InputField } from '../ui/fields.tsx';
import { Facts } from '../ui/panel.tsx';
import type { Identity } from './identity.ts';
import type { MatrixSession } from './matrix-session.ts';
import { MemoryPanel } from './memory-panel.tsx';
import { SignOut } from './sign-out.tsx';

interface AboutMeProps {
  identity: Identity;
  oracleDid: string;
  /** How many turns have ended: each may have changed what is kept. */
  turns: number;
  matrix: MatrixSession;
  onMatrix(matrix: MatrixSession): void;
  onSignOut(): void;
}

/** The user's identity, and what the agent stores about them. */
export function AboutMe({ identity, oracleDid, turns, matrix, onMatrix, onSignOut }: AboutMeProps) {
  return (
    <aside className="chat-about panel" aria-label={t('chat.aboutYou')}>
      <section>
        <h2>{t('chat.you')}</h2>
        <p className="small break">
          <code>{identity.did}</code>
        </p>
        <div className="actions">
          <CopyButton text={identity.did} label={t('chat.copyDid')} />
          <SignOut identity={identity} onSignOut={onSignOut} />
        </div>
      </section>
      <Preferences oracleDid={oracleDid} turns={turns} />
      <MemoryPanel oracleDid={oracleDid} turns={turns} />
      <details>
        <summary>{t('chat.matrix')}</summary>
        <div className="matrix-fields">
          <InputField
            label={t('chat.homeserver')}
            type="url"
            placeholder="https://matrix.example"
            value={matrix.homeServer}
            onChange={(event) => onMatrix({ ...matrix, homeServer: event.target.value })}
          />
          <InputField
            label={t('chat.accessToken')}
            type="password"
            autoComplete="off"
            value={matrix.accessToken}
            onChange={(event) => onMatrix({ ...matrix, accessToken: event.target.value })}
          />
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
      <h2>{t('chat.preferences')}</h2>
      {query.error ? (
        <Fault error={query.error} />
      ) : entries.length === 0 ? (
        <p className="empty">{t('chat.noPreferences')}</p>
      ) : (
        <Facts rows={entries} />
      )}
    </section>
  );
}
