import { OracleError } from '../core/oracle-error.ts';
import { concat, fromBase64, toBase64, toUtf8 } from './bytes.ts';
import { createSignerWallet, type SignerWallet, type SignerWalletOptions, toKeyDid } from './signer-wallet.ts';

export interface KeyWallet extends SignerWallet {
  /** The key under the passphrase of its creation, for `importKeyWallet`; undefined if none was given. */
  backup: string | undefined;
  forget(): Promise<void>;
}

export interface KeyWalletOptions extends SignerWalletOptions {
  /** With it, a new key comes with a `backup`. Later the key cannot be read any more, so there is no other moment. */
  passphrase?: string | undefined;
  /** Keys of several users of one page have several names. */
  name?: string | undefined;
}

/**
 * The user's Ed25519 key of WebCrypto in IndexedDB, created at the first call. It cannot be read out.
 *
 * @example
 * ```ts
 * import { createKeyWallet } from '@palaver/oracles-client-sdk/wallet';
 *
 * const { did, createDelegation, createInvocation } = await createKeyWallet();
 * ```
 */
export async function createKeyWallet(options: KeyWalletOptions = {}): Promise<KeyWallet> {
  const { name = 'default', passphrase } = options;
  const kept = await loadKey(name);
  if (kept) return toWallet(kept, name, options);
  const seed = crypto.getRandomValues(new Uint8Array(seedBytes));
  const backup = passphrase ? await sealWithPassphrase(seed, passphrase) : undefined;
  const created = await keep(seed, backup, (key) => addKey(name, key));
  return toWallet(created, name, options);
}

export async function importKeyWallet(
  backup: string,
  options: KeyWalletOptions & { passphrase: string },
): Promise<KeyWallet> {
  const { name = 'default', passphrase } = options;
  const seed = await openWithPassphrase(backup, passphrase);
  const imported = await keep(seed, backup, (key) => saveKey(name, key));
  return toWallet(imported, name, options);
}

const seedBytes = 32;
/** An Ed25519 private key in PKCS #8, up to its seed. */
const pkcs8Head = fromBase64('MC4CAQAwBQYDK2VwBCIEIA==');

async function keep(
  seed: Uint8Array,
  backup: string | undefined,
  save: (key: KeptKey) => Promise<KeptKey>,
): Promise<KeptKey> {
  const pkcs8 = concat(pkcs8Head, seed);
  try {
    const readable = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', true, ['sign']);
    const { x = '' } = await crypto.subtle.exportKey('jwk', readable);
    const publicKey = fromBase64(x.replaceAll('-', '+').replaceAll('_', '/'));
    const privateKey = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']);
    return await save({ did: toKeyDid(publicKey), privateKey, backup });
  } catch (cause) {
    throw new OracleError('This browser cannot keep or use an Ed25519 key.', { code: 'SIGNING_UNSUPPORTED', cause });
  }
}

function toWallet({ did, privateKey, backup }: KeptKey, name: string, options: SignerWalletOptions): KeyWallet {
  const sign = async (payload: Uint8Array<ArrayBuffer>) =>
    new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, payload));
  return { ...createSignerWallet({ did, sign }, options), backup, forget: () => deleteKey(name) };
}

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

// PBKDF2 with as many rounds as OWASP asks for: WebCrypto has no memory-hard function.
const rounds = 600_000;
const saltBytes = 16;
const nonceBytes = 12;
const mark = 'palaver-key-1.';

export async function sealWithPassphrase(secret: Uint8Array, passphrase: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(saltBytes));
  const iv = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const key = await deriveKey(passphrase, salt);
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, new Uint8Array(secret));
  return mark + toBase64(concat(salt, iv, new Uint8Array(sealed)));
}

export async function openWithPassphrase(text: string, passphrase: string): Promise<Uint8Array> {
  try {
    if (!text.startsWith(mark)) throw new TypeError('not a backup of a key');
    const bytes = fromBase64(text.slice(mark.length).trim());
    const key = await deriveKey(passphrase, bytes.slice(0, saltBytes));
    const iv = bytes.slice(saltBytes, saltBytes + nonceBytes);
    return new Uint8Array(
      await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, bytes.slice(saltBytes + nonceBytes)),
    );
  } catch (cause) {
    throw new OracleError('The backup cannot be opened with this passphrase.', { code: 'KEY_BACKUP_REFUSED', cause });
  }
}

async function deriveKey(passphrase: string, salt: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey('raw', toUtf8(passphrase), 'PBKDF2', false, ['deriveKey']);
  const pbkdf2 = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations: rounds };
  return crypto.subtle.deriveKey(pbkdf2, material, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
}
