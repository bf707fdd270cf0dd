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

/** Until an operator unlocks the account: someone who waits out every lock still cannot guess for ever. */
export function isLockedForGood({ failed_total }: Lockout): boolean {
  return failed_total >= ussdLimits.pinFailuresInAll;
}

/** After three wrong in a row a lock of 5 minutes, and each further lock twice as long, up to a day. */
export function countFailure(lockout: Lockout, now: number): Lockout {
  const failed = lockout.failed + 1;
  const failed_total = lockout.failed_total + 1;
  if (failed < ussdLimits.pinAttempts) return { ...lockout, failed, failed_total, locked_until: null };
  const length = Math.min(firstLockMs * 2 ** Math.min(lockout.locks, 20), longestLockMs);
  return { failed: 0, locks: lockout.locks + 1, locked_until: now + length, failed_total };
}

/** After a right PIN; what was wrong in all before it still counts. */
export function forgiveFailures({ failed_total }: Lockout): Lockout {
  return { ...noFailures, failed_total };
}

export const noFailures: Lockout = { failed: 0, locks: 0, locked_until: null, failed_total: 0 };

export function minutesLeft({ locked_until }: Pick<Lockout, 'locked_until'>, now: number): number {
  return Math.max(1, Math.ceil(((locked_until ?? now) - now) / 60_000));
}
