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

export async function saveKey(name: string, key: KeptKey): Promise<void> {
  await withStore('readwrite', (keys) => keys.put(key, name));
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
