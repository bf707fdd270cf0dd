import { OracleError } from '../core/oracle-error.ts';
import { concat, fromBase64 } from './bytes.ts';
import { addKey, deleteKey, type KeptKey, loadKey, saveKey } from './key-store.ts';
import { openWithPassphrase, sealWithPassphrase } from './seal.ts';
import { createSignerWallet, type SignerWallet, type SignerWalletOptions, toKeyDid } from './signer-wallet.ts';

export interface KeyWallet extends SignerWallet {
  /** The key under the passphrase of its creation, for `importKeyWallet`; undefined if none was given. */
  backup: string | undefined;
  /** Deletes the key from this browser. */
  forget(): Promise<void>;
}

export interface KeyWalletOptions extends SignerWalletOptions {
  /** With it, a new key comes with a `backup`. Later the key cannot be read any more, so there is no other moment. */
  passphrase?: string | undefined;
  /** Keys of several users of one page have several names. */
  name?: string | undefined;
}

/**
 * A user's key in this browser: the one that is kept here, or a new one. It is an Ed25519 key of WebCrypto that cannot be
 * read out, kept in IndexedDB.
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

/** The key of a backup in place of the one that is kept here. */
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
