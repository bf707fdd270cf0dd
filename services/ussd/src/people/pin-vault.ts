import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { ussdLimits } from '@palaver/contract';
import { createLimiter } from '@palaver/service-kit/internal';
import type { KeyRing } from '@palaver/store/internal';
import type { AccountTable } from '../store/tables.ts';

// About 40 ms and 16 MiB: the seal keeps a stolen table useless, this keeps a stolen table with its key slow.
const cost = { N: 2 ** 14, r: 8, p: 1 };
type PinRecord = typeof cost & { salt: string; hash: string };
const hashBytes = 32;

/** The record of a PIN is a slow salted hash, sealed and bound to the account. */
export function createPinVault(keys: KeyRing) {
  // Hashing runs on Node's thread pool of four; two at a time leave room for name lookups and files.
  const limit = createLimiter({
    concurrency: 2,
    maxWaiting: 500,
    toError: () => new Error('too many PINs are waiting to be checked'),
  });
  return {
    async create(pin: string, accountId: string) {
      const salt = randomBytes(16);
      const hash = await limit(() => hashPin(pin, salt, cost));
      const plain = JSON.stringify({ ...cost, salt: salt.toString('base64'), hash: hash.toString('base64') });
      return keys.seal(Buffer.from(plain), accountId);
    },
    async verify(pin: string, record: string, accountId: string) {
      const { salt, hash, ...kept }: PinRecord = JSON.parse(keys.open(record, accountId).toString());
      const given = await limit(() => hashPin(pin, Buffer.from(salt, 'base64'), kept));
      return timingSafeEqual(given, Buffer.from(hash, 'base64'));
    },
    /** Whether two records are of one hash: a rotation of keys seals it again. */
    isSame: (record: string, other: string, accountId: string) =>
      record === other || keys.open(record, accountId).equals(keys.open(other, accountId)),
    reseal: (record: string, accountId: string) => keys.seal(keys.open(record, accountId), accountId),
  };
}

export type PinVault = ReturnType<typeof createPinVault>;

function hashPin(pin: string, salt: Buffer, { N, r, p }: typeof cost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(pin, salt, hashBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

export type Lockout = Pick<AccountTable, 'failed' | 'locks' | 'locked_until' | 'failed_total'>;

const firstLockMs = 5 * 60_000;
const longestLockMs = 24 * 3_600_000;

export function isLocked(lockout: Lockout, now: number): boolean {
  return isLockedForGood(lockout) || (lockout.locked_until !== null && lockout.locked_until > now);
}

/** Until an operator unlocks the account: otherwise someone who waits for each lock to end could guess for ever. */
export function isLockedForGood({ failed_total }: Lockout): boolean {
  return failed_total >= ussdLimits.pinFailuresInAll;
}

/** After three wrong PINs in a row the account is locked for 5 minutes; each further lock is twice as long, up to a day. */
export function countFailure(lockout: Lockout, now: number): Lockout {
  const failed = lockout.failed + 1;
  const failed_total = lockout.failed_total + 1;
  // Field by field, because `lockout` may be a whole account, whose name and number must not be written unencrypted.
  if (failed < ussdLimits.pinAttempts) return { failed, locks: lockout.locks, locked_until: null, failed_total };
  const locks = lockout.locks + 1;
  return { failed: 0, locks, locked_until: now + lockLength(locks), failed_total };
}

function lockLength(locks: number): number {
  return Math.min(firstLockMs * 2 ** Math.min(locks - 1, 20), longestLockMs);
}

/** After a correct PIN. The total of wrong PINs is kept. */
export function resetFailures({ failed_total }: Lockout): Lockout {
  return { ...noFailures, failed_total };
}

export const noFailures: Lockout = { failed: 0, locks: 0, locked_until: null, failed_total: 0 };

/** At most the length of the lock: the clock of the instance that locked may be some milliseconds ahead of `now`. */
export function minutesLeft({ locked_until, locks }: Pick<Lockout, 'locked_until' | 'locks'>, now: number): number {
  const left = Math.min((locked_until ?? now) - now, lockLength(locks));
  return Math.max(1, Math.ceil(left / 60_000));
}
