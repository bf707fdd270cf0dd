/** A key as the browser keeps it: the private one cannot be read, not even by this page. */
export interface KeptKey {
  did: string;
  privateKey: CryptoKey;
  backup?: string | undefined;
}

const store = 'keys';

/** Keys of this origin in IndexedDB; where there is none, nothing is kept. */
export async function loadKey(name: string): Promise<KeptKey | undefined> {
  return withStore('readonly', (keys) => keys.get(name));
}

/** Keeps a key in place of the one that is kept. */
export async function saveKey(name: string, key: KeptKey): Promise<KeptKey> {
  await withStore('readwrite', (keys) => keys.put(key, name));
  return key;
}

/** Keeps a new key; returns the one that is kept if another tab or call was first. */
export async function addKey(name: string, key: KeptKey): Promise<KeptKey> {
  try {
    await withStore('readwrite', (keys) => keys.add(key, name));
    return key;
  } catch (error) {
    const kept = (error as Error).name === 'ConstraintError' ? await loadKey(name) : undefined;
    if (!kept) throw error;
    return kept;
  }
}

export async function deleteKey(name: string): Promise<void> {
  await withStore('readwrite', (keys) => keys.delete(name));
}

async function withStore<T>(
  mode: IDBTransactionMode,
  work: (keys: IDBObjectStore) => IDBRequest<T>,
): Promise<T | undefined> {
  if (!('indexedDB' in globalThis)) return undefined;
  const opening = indexedDB.open('palaver-keys', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(store);
  const database = await toPromise(opening);
  try {
    return await toPromise(work(database.transaction(store, mode).objectStore(store)));
  } finally {
    database.close();
  }
}

function toPromise<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
