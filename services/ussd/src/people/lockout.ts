import { ussdLimits } from '@palaver/contract';

export interface Lockout {
  failed: number;
  locks: number;
  locked_until: number | null;
  /** Wrong PINs since the PIN was last changed or an operator unlocked the account. */
  failed_total: number;
}

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
