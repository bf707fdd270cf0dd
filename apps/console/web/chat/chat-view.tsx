import { Button, Form } from '../ui/controls.tsx';
import '../styles/chat.css';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import { callService } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { Panel, Refusal, ViewHead, Waiting } from '../ui/content.tsx';
import type { Identity } from './identity.ts';

const SignedInChat = lazy(async () => ({ default: (await import('./signed-in-chat.tsx')).SignedInChat }));

export function ChatView() {
  const [identity, setIdentity] = useState<Identity | null>();
  useEffect(() => {
    loadIdentity().then(setIdentity, () => setIdentity(null));
  }, []);
  const agent = useQuery({
    queryKey: ['agent-did'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => ((await (await callService('agent', '/.well-known/did.json')).json()) as { id: string }).id,
  });

  if (identity === undefined) return <Waiting />;
  if (identity === null) {
    return (
      <>
        <ViewHead title={t('app.chat')} intro={t('chat.intro')} guide="agent-api" />
        <SignIn onSignedIn={setIdentity} />
      </>
    );
  }
  if (agent.error) return <Refusal text={t('chat.unreachable', { message: agent.error.message })} />;
  if (!agent.data) return <p className="quiet">{t('chat.asking')}</p>;
  const signOut = () => {
    void forgetCredential();
    setIdentity(null);
  };
  return (
    <Suspense fallback={<Waiting />}>
      <SignedInChat key={identity.did} identity={identity} oracleDid={agent.data} onSignOut={signOut} />
    </Suspense>
  );
}

/** The code that signs is loaded only for those who have a key. */
async function loadIdentity(): Promise<Identity | null> {
  const kept = await loadCredential();
  if (!kept) return null;
  const identity = await (await import('./identity.ts')).readIdentity(kept);
  return 'problem' in identity ? null : identity;
}

// The credential is kept in this browser, encrypted with a key that no script can read out.
const databaseName = 'palaver-console';
const storeName = 'credential';
const entryName = 'chat';
/** Where earlier versions kept it in the clear. */
const formerKey = 'palaver.chat-credential';

interface Entry {
  key: CryptoKey;
  nonce: Uint8Array<ArrayBuffer>;
  sealed: ArrayBuffer;
}

export async function loadCredential(): Promise<string | null> {
  const former = localStorage.getItem(formerKey);
  if (former !== null) {
    localStorage.removeItem(formerKey);
    await keepCredential(former);
    return former;
  }
  const entry = await run<Entry | undefined>('readonly', (store) => store.get(entryName));
  if (!entry) return null;
  const opened = await crypto.subtle.decrypt({ name: 'AES-GCM', iv: entry.nonce }, entry.key, entry.sealed);
  return new TextDecoder().decode(opened);
}

/** Plain HTTP has no WebCrypto and some private windows no database; it is then kept for this visit only. */
export async function keepCredential(credential: string): Promise<void> {
  try {
    const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
    const nonce = crypto.getRandomValues(new Uint8Array(12));
    const text = new TextEncoder().encode(credential);
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv: nonce }, key, text);
    const entry: Entry = { key, nonce, sealed };
    await run('readwrite', (store) => store.put(entry, entryName));
  } catch {
    // This visit continues without it.
  }
}

export async function forgetCredential(): Promise<void> {
  localStorage.removeItem(formerKey);
  await run('readwrite', (store) => store.delete(entryName));
}

async function run<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest): Promise<T> {
  const opening = indexedDB.open(databaseName, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(storeName);
  const database = await settled<IDBDatabase>(opening);
  try {
    return await settled<T>(work(database.transaction(storeName, mode).objectStore(storeName)));
  } finally {
    database.close();
  }
}

function settled<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T);
    request.onerror = () => reject(request.error);
  });
}

export function SignIn({ onSignedIn }: { onSignedIn(identity: Identity): void }) {
  const [pasted, setPasted] = useState('');
  const [problem, setProblem] = useState('');

  async function enter(identity: Identity): Promise<void> {
    await keepCredential(identity.credential);
    onSignedIn(identity);
  }
  async function create(): Promise<void> {
    try {
      await enter(await (await import('./identity.ts')).createDemoIdentity());
    } catch {
      setProblem(t('chat.noKeys'));
    }
  }
  async function paste(): Promise<void> {
    const result = await (await import('./identity.ts')).readIdentity(pasted);
    if ('problem' in result) setProblem(result.problem);
    else await enter(result);
  }

  return (
    <div className="sign-in-page">
      <Panel title={t('chat.demoKey')}>
        <p className="quiet">{t('chat.demoKeyText')}</p>
        <Button text={t('chat.makeKey')} main onClick={() => void create()} />
      </Panel>
      <Panel title={t('chat.ownKey')}>
        <Form onSubmit={paste}>
          <label className="field">
            <span>{t('chat.credential')}</span>
            <textarea
              rows={3}
              value={pasted}
              onChange={(event) => setPasted(event.target.value)}
              spellCheck={false}
              autoComplete="off"
              placeholder={t('chat.credentialHint')}
            />
          </label>
          <Button text={t('chat.signIn')} type="submit" disabled={pasted.trim() === ''} />
        </Form>
      </Panel>
      <Refusal text={problem} />
    </div>
  );
}
