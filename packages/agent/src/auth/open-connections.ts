import { AppError, ucanLimits } from '@palaver/contract';
import type { IssuedToken, Standing } from '@palaver/ucan/internal';
import type { DelegationStore } from '../store/delegations.ts';

/** A socket, or a reply under way: what a token opened and may outlive. */
export interface OpenConnection {
  /** The token that signed its user in, then its proofs: each can be revoked. */
  chain: readonly IssuedToken[];
  /** Unix seconds, of the token. */
  expiration: number;
  /** How long it stays open after that. */
  graceMs?: number;
  /** Whether it ends too when the token is sent downstream, where others may have it. */
  endsWhenShared: boolean;
  /** Throws an `AppError` if it may not stay open for another reason. */
  check?(): Promise<void>;
  end(reason: AppError): void;
}

export interface RefusedDelegation {
  /** Its issuer: a user who names another's CID must not end that user's connections. */
  did: string;
  cid: string;
  standing: Standing;
}

export type OpenConnections = ReturnType<typeof createOpenConnections>;

const lookEveryMs = 1_000;
const checkEveryMs = 60_000;

export const noLongerSignsIn = () =>
  new AppError('UCAN_NOT_ALLOWED', 'The credential of this connection no longer signs in.');

/** Ends the connections of this instance with the tokens that opened them. */
export function createOpenConnections({ findStanding }: Pick<DelegationStore, 'findStanding'>) {
  /** By when each was checked last. */
  const open = new Map<OpenConnection, number>();
  let isChecking = false;

  function end(connection: OpenConnection, reason: AppError): void {
    if (open.delete(connection)) connection.end(reason);
  }

  const endsBy = ({ endsWhenShared }: OpenConnection, standing: Standing | undefined) =>
    standing === 'revoked' || (endsWhenShared && standing !== undefined);

  /** What ends a connection may be lost on its way to this instance. */
  async function check(connection: OpenConnection): Promise<void> {
    try {
      if (endsBy(connection, await findStanding(connection.chain))) throw noLongerSignsIn();
      await connection.check?.();
    } catch (error) {
      // The database may be unreachable.
      if (error instanceof AppError) end(connection, error);
    }
  }

  async function checkDue(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    for (const [connection, checkedAt] of open) {
      if (Date.now() - checkedAt < checkEveryMs) continue;
      open.set(connection, Date.now());
      await check(connection);
    }
    isChecking = false;
  }

  const timer = setInterval(() => {
    for (const connection of open.keys()) {
      const { expiration, graceMs = 0 } = connection;
      if (Date.now() >= (expiration + ucanLimits.clockSkewSeconds) * 1000 + graceMs)
        end(connection, new AppError('UCAN_EXPIRED', 'The credential of this connection has expired.'));
    }
    void checkDue();
  }, lookEveryMs).unref();

  return {
    /** Returns the function that removes it. */
    add(connection: OpenConnection): () => void {
      open.set(connection, Date.now());
      return () => void open.delete(connection);
    },
    /** Ends those that a delegation, or a token under it, had opened. */
    drop({ did, cid, standing }: RefusedDelegation): void {
      for (const connection of open.keys())
        if (endsBy(connection, standing) && connection.chain.some((token) => token.cid === cid && token.issuer === did))
          end(connection, noLongerSignsIn());
    },
    close(): void {
      clearInterval(timer);
    },
  };
}
