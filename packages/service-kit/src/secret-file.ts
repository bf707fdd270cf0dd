import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';

/**
 * The secret kept in a file of mode 0600, made at the first start.
 * Safe when several processes start at once: all of them read the one that came first.
 */
export function loadOrCreateSecretFile(path: string, create: () => string): { secret: string; created: boolean } {
  const existing = readIfThere(path);
  if (existing !== undefined) return { secret: existing, created: false };
  // Written aside and then linked into place, so that nobody can read a file that is only half written.
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(aside, `${create()}\n`, { mode: 0o600, flag: 'wx', flush: true });
  let created = true;
  try {
    linkSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    created = false;
  } finally {
    unlinkSync(aside);
  }
  return { secret: readFileSync(path, 'utf8').trim(), created };
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
