import { useMemoryEngine, useOraclesContext } from '@palaver/oracles-client-sdk';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { toServicePath } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { Facts, Fault } from '../ui/content.tsx';
import { Button, CopyButton, download, Form, IconButton, InputField, Modal } from '../ui/controls.tsx';
import type { Identity } from './identity.ts';

export interface Account {
  identity: Identity;
  matrix: MatrixSession;
  onMatrix(matrix: MatrixSession): void;
  onSignOut(): void;
}

interface AboutMeProps extends Account {
  turns: number;
}

export function AboutMe({ identity, turns, matrix, onMatrix, onSignOut }: AboutMeProps) {
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
      <Preferences turns={turns} />
      <MemoryPanel turns={turns} />
      <details>
        <summary>{t('chat.matrix')}</summary>
        <div className="matrix-fields">
          <InputField
            label={t('chat.homeserver')}
            type="url"
            placeholder="https://matrix.example"
            value={matrix.homeServer}
            onChange={(value) => onMatrix({ ...matrix, homeServer: value })}
          />
          <InputField
            label={t('chat.accessToken')}
            type="password"
            autoComplete="off"
            value={matrix.accessToken}
            onChange={(value) => onMatrix({ ...matrix, accessToken: value })}
          />
        </div>
      </details>
    </aside>
  );
}

function Preferences({ turns }: { turns: number }) {
  const { createTransport, oracleDid = '', wallet } = useOraclesContext();
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

function MemoryPanel({ turns }: { turns: number }) {
  const { memories, error, isLoading, hasMore, loadMore, search, addMemory, deleteMemory, refetch } = useMemoryEngine();
  const [text, setText] = useState('');
  const seen = useRef(turns);
  useEffect(() => {
    if (seen.current !== turns) void refetch();
    seen.current = turns;
  }, [turns, refetch]);
  const add = async () => {
    if (text.trim() === '') return;
    await addMemory(text.trim());
    setText('');
  };
  return (
    <section>
      <h2>{t('chat.memory')}</h2>
      {error ? (
        <p className="empty">{t('chat.noMemory', { message: error.message })}</p>
      ) : (
        <>
          <input
            className="input"
            type="search"
            aria-label={t('chat.searchMemory')}
            placeholder={t('chat.search')}
            onChange={(event) => search(event.target.value)}
          />
          <ul className="memories">
            {memories.map(({ id, text: words }) => (
              <li key={id}>
                <span dir="auto">{words}</span>
                <IconButton
                  icon="close"
                  size={16}
                  label={t('chat.forget', { text: words })}
                  onClick={() => void deleteMemory(id)}
                />
              </li>
            ))}
          </ul>
          {memories.length === 0 && !isLoading && <p className="empty">{t('chat.nothingRemembered')}</p>}
          {hasMore && <Button text={t('chat.more')} small onClick={() => void loadMore()} />}
          <Form className="memory-add" onSubmit={add}>
            <input
              className="input"
              aria-label={t('chat.toRemember')}
              placeholder={t('chat.toRemember')}
              maxLength={1000}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            <Button text={t('chat.add')} type="submit" small disabled={text.trim() === ''} />
          </Form>
        </>
      )}
    </section>
  );
}

/** A key made here exists nowhere else, so leaving is confirmed; a delegation can be signed again. */
function SignOut({ identity, onSignOut }: { identity: Identity; onSignOut(): void }) {
  const [isAsking, setAsking] = useState(false);
  const isKey = identity.kind === 'key';
  const exportKey = () => download('palaver-key.txt', `${identity.credential}\n`, 'text/plain');
  return (
    <>
      {isKey && <Button text={t('chat.exportKey')} small onClick={exportKey} />}
      <Button text={t('chat.signOut')} small danger onClick={() => (isKey ? setAsking(true) : onSignOut())} />
      {isAsking && (
        <Modal title={t('chat.leaveTitle')} onClose={() => setAsking(false)}>
          <p>{t('chat.leaveText')}</p>
          <div className="actions">
            <Button onClick={() => setAsking(false)}>{t('app.cancel')}</Button>
            <Button text={t('chat.exportKey')} main onClick={exportKey} />
            <Button text={t('chat.leave')} danger onClick={onSignOut} />
          </div>
        </Modal>
      )}
    </>
  );
}

export type MatrixSession = typeof noMatrix;
export const noMatrix = { homeServer: '', accessToken: '' };
