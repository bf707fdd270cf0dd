import { OracleError } from './oracle-error.ts';
import type { GrantedCapability } from './wire.ts';

/** A signed token as the application's wallet returns it. */
export interface SignedArtifact {
  serialized: string;
  /** Unix time in seconds; milliseconds are understood too. */
  expiresAt: number;
}

/** With a capability, what is signed grants that and nothing else. */
export type Sign = (oracleDid: string, capability?: GrantedCapability) => Promise<SignedArtifact>;

export interface Credentials {
  invocation?: string;
  delegation?: string;
}

export interface CredentialCacheOptions {
  userDid: string;
  /** Without it the invocation alone signs the user in. */
  createDelegation?: Sign | undefined;
  /** Without it the delegation alone signs the user in. */
  createInvocation?: Sign | undefined;
  /** Where artifacts outlive a reload, usually `sessionStorage`; in memory only when not given. */
  storage?: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined;
}

export type CredentialCache = ReturnType<typeof createCredentialCache>;

type Kind = 'invocation' | 'delegation';

const renewMs: Record<Kind, number> = { invocation: 30_000, delegation: 5 * 60_000 };

export function createCredentialCache(options: CredentialCacheOptions) {
  const { userDid, storage, createDelegation = signNothing, createInvocation } = options;
  const kept = new Map<string, SignedArtifact>();
  const signing = new Map<string, Promise<SignedArtifact>>();
  const keyOf = (kind: Kind, oracleDid: string) => `palaver ${kind} ${userDid} ${oracleDid}`;

  function find(kind: Kind, oracleDid: string): SignedArtifact | undefined {
    const key = keyOf(kind, oracleDid);
    const artifact = kept.get(key) ?? parseArtifact(storage?.getItem(key));
    return artifact && toMilliseconds(artifact.expiresAt) - renewMs[kind] > Date.now() ? artifact : undefined;
  }

  function forget(kind: Kind, oracleDid: string): void {
    kept.delete(keyOf(kind, oracleDid));
    storage?.removeItem(keyOf(kind, oracleDid));
  }

  function sign(kind: Kind, oracleDid: string, create: Sign): Promise<SignedArtifact> {
    const key = keyOf(kind, oracleDid);
    const underWay = signing.get(key);
    if (underWay) return underWay;
    const work = (async () => {
      try {
        const { serialized, expiresAt } = await create(oracleDid).catch(refuseToSign);
        const artifact = { serialized, expiresAt };
        kept.set(key, artifact);
        storage?.setItem(key, JSON.stringify(artifact));
        return artifact;
      } finally {
        signing.delete(key);
      }
    })();
    signing.set(key, work);
    return work;
  }

  const provide = async (kind: Kind, oracleDid: string, create: Sign) =>
    (find(kind, oracleDid) ?? (await sign(kind, oracleDid, create))).serialized;

  return {
    /** Tokens in force for an agent; signs what is missing or about to expire, once for all who ask meanwhile. */
    async get(oracleDid: string): Promise<Credentials> {
      // One after the other: a wallet shows one question at a time.
      const delegation = options.createDelegation && (await provide('delegation', oracleDid, createDelegation));
      const invocation = createInvocation && (await provide('invocation', oracleDid, createInvocation));
      return { ...(delegation && { delegation }), ...(invocation && { invocation }) };
    },
    /** Forgets what an agent refused, unless it has been replaced since. */
    refuse(oracleDid: string, { invocation, delegation }: Credentials): void {
      // An invocation that is present decides, so only it can have been refused.
      const [kind, refused] = invocation
        ? (['invocation', invocation] as const)
        : (['delegation', delegation] as const);
      if (find(kind, oracleDid)?.serialized === refused) forget(kind, oracleDid);
    },
    /** Signs a delegation of one capability. It signs nobody in, so it is not cached. */
    grant: (oracleDid: string, capability: GrantedCapability): Promise<SignedArtifact> =>
      createDelegation(oracleDid, capability).catch(refuseToSign),
    /** Signs an invocation of one capability for a service that the agent calls for the user. */
    invoke: (audience: string, capability: GrantedCapability): Promise<SignedArtifact> =>
      (createInvocation ?? signNothing)(audience, capability).catch(refuseToSign),
    /** Signs a new delegation whatever is cached. */
    renewDelegation: (oracleDid: string) => sign('delegation', oracleDid, createDelegation),
  };
}

async function signNothing(): Promise<never> {
  throw new Error('This client signs nothing of this kind.');
}

function refuseToSign(cause: unknown): never {
  const message = cause instanceof Error ? cause.message : 'The wallet did not sign.';
  throw new OracleError(message, { code: 'NOT_SIGNED', cause });
}

/** No date before 1973 in milliseconds is meant, so small numbers are seconds. */
function toMilliseconds(time: number): number {
  return time < 1e11 ? time * 1000 : time;
}

function parseArtifact(text: string | null | undefined): SignedArtifact | undefined {
  try {
    const { serialized, expiresAt } = JSON.parse(text ?? '{}') as Partial<SignedArtifact>;
    return typeof serialized === 'string' && typeof expiresAt === 'number' ? { serialized, expiresAt } : undefined;
  } catch {
    return undefined;
  }
}
