import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Env, StartError } from '@palaver/service-kit';
import { loadOrCreateSecretFile } from '@palaver/service-kit/internal';
import { createSigner, parseSigner, type Signer } from '@palaver/ucan';

/** Where the local user's key is kept by default. */
export function toKeyPath(env: Env): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'palaver', 'user.key');
}

/** The key this machine's user signs with, made at the first use and kept with mode 0600. */
export async function loadUserKey(path: string): Promise<{ signer: Signer; created: boolean }> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = (await createSigner()).toSecret();
  const { secret, created } = loadOrCreateSecretFile(path, () => fresh);
  const parsed = await parseSigner(secret);
  if (!parsed.ok) throw new StartError(`${path} does not hold a key: ${parsed.error.message}.`);
  return { signer: parsed.ok, created };
}
