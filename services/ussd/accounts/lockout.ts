import { ussdLimits } from '@palaver/contract';

export interface Lockout {
  failed: number;
  locks: number;
  locked_until: number | null;
}

const firstLockMs = 5 * 60_000;
const longestLockMs = 24 * 3_600_000;

export function isLocked({ locked_until }: Lockout, now: number): boolean {
  return locked_until !== null && locked_until > now;
}

/** After three wrong in a row a lock of 5 minutes, and each further lock twice as long, up to a day. */
export function countFailure(lockout: Lockout, now: number): Lockout {
  const failed = lockout.failed + 1;
  if (failed < ussdLimits.pinAttempts) return { ...lockout, failed, locked_until: null };
  const length = Math.min(firstLockMs * 2 ** Math.min(lockout.locks, 20), longestLockMs);
  return { failed: 0, locks: lockout.locks + 1, locked_until: now + length };
}

export const noFailures: Lockout = { failed: 0, locks: 0, locked_until: null };

export function minutesLeft({ locked_until }: Lockout, now: number): number {
  return Math.max(1, Math.ceil(((locked_until ?? now) - now) / 60_000));
}
