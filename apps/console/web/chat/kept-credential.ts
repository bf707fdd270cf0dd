// The credential of whoever chats here, kept in this browser for the next visit. It is encrypted with a key that no script can
// read out, so that neither a copy of the profile's texts nor a look at the storage shows it.
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

/** Browsers have neither WebCrypto on plain HTTP nor, in some private windows, a database; it is then kept for this visit only. */
export async function keepCredential(credential: string): Promise<void> {
  try {
    const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
    const nonce = crypto.getRandomValues(new Uint8Array(12));
    const sealed = await crypto.subtle.encrypt(
      { name: 'AES-GCM', iv: nonce },
      key,
      new TextEncoder().encode(credential),
    );
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
