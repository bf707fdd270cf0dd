export const sessionStatus = { active: 1, ended: 0, expired: 2 } as const;

/** A session as it is kept: flat texts and numbers, so that a hundred thousand open ones are small. */
export interface Session {
  id: string;
  phone: string;
  serviceCode: string;
  version: number;
  status: number;
  /** Keyed hash of the text consumed so far; the text may hold a PIN and is never kept. */
  textHash: string;
  textLength: number;
  opening: string;
  dialogue: string;
  /** The whole last reply, prefix included, for a telecom gateway that asks again. */
  reply: string;
  openedAt: number;
  seenAt: number;
}

/** A session is expired from the moment of its timeout on, whether or not it was swept already. */
export function isExpired(session: Session, now: number, timeoutMs: number): boolean {
  return (
    session.status === sessionStatus.expired ||
    (session.status === sessionStatus.active && now - session.seenAt >= timeoutMs)
  );
}
