import { AppError, agentLimits, ucanLimits } from '@palaver/contract';
import { type QueueOwner, runEvery } from '@palaver/service-kit/internal';
import type { IssuedToken, Standing } from '@palaver/ucan/internal';
import type { DelegationStore } from '../store/delegations.ts';

/** A socket, or a reply under way: what a token opened and may outlive. */
export interface OpenConnection {
  /** The token that signed its user in, then its proofs: each can be revoked. */
  chain: readonly IssuedToken[];
  expiration: number;
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

export const tooManyOpen = () =>
  new AppError('LIMIT_REACHED', 'You have too many connections open. Close some, or try again in a moment.');

export const noLongerSignsIn = () =>
  new AppError('UCAN_NOT_ALLOWED', 'The credential of this connection no longer signs in.');

const replyLimits: Record<'all' | 'perUser' | 'perClient', number> = {
  all: agentLimits.replies,
  perUser: agentLimits.repliesPerUser,
  perClient: agentLimits.repliesPerClient,
};
const socketLimits: typeof replyLimits = {
  all: agentLimits.sockets,
  perUser: agentLimits.socketsPerUser,
  perClient: agentLimits.socketsPerClient,
};

/** Bounds open connections: the fuller it is, the less each user and address may have, so that there is room for newcomers. */
export function createOpenPlaces({ all, perUser, perClient }: typeof replyLimits) {
  const counts = new Map<string, number>();
  let total = 0;
  const countOf = (name: string) => counts.get(name) ?? 0;

  /** Returns the function that gives the place back; undefined if there is no place left. */
  return ({ userDid, client }: QueueOwner): (() => void) | undefined => {
    const [user, address] = [`user ${userDid}`, client === undefined ? undefined : `from ${client}`];
    const free = all - total;
    const isFull =
      countOf(user) >= Math.min(perUser, Math.ceil(free / 4)) ||
      (address !== undefined && countOf(address) >= Math.min(perClient, Math.ceil(free / 2)));
    if (isFull) return undefined;
    const add = (by: number) => {
      total += by;
      for (const name of address === undefined ? [user] : [user, address]) {
        const count = countOf(name) + by;
        if (count > 0) counts.set(name, count);
        else counts.delete(name);
      }
    };
    add(1);
    let isOpen = true;
    return () => {
      if (isOpen) add(-1);
      isOpen = false;
    };
  };
}

export function createOpenConnections({ findStanding }: Pick<DelegationStore, 'findStanding'>) {
  const open = new Map<OpenConnection, number>();

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
    for (const [connection, checkedAt] of open) {
      if (Date.now() - checkedAt < checkEveryMs) continue;
      open.set(connection, Date.now());
      await check(connection);
    }
  }

  const checking = runEvery({ everyMs: lookEveryMs, work: checkDue, onFault() {} });
  const timer = setInterval(() => {
    for (const connection of open.keys()) {
      const { expiration, graceMs = 0 } = connection;
      if (Date.now() >= (expiration + ucanLimits.clockSkewSeconds) * 1000 + graceMs)
        end(connection, new AppError('UCAN_EXPIRED', 'The credential of this connection has expired.'));
    }
  }, lookEveryMs).unref();

  return {
    takeReply: createOpenPlaces(replyLimits),
    takeSocket: createOpenPlaces(socketLimits),
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
      void checking.stop();
    },
  };
}
