import { toAccessHeaders } from '@palaver/protocol/internal';
import type { CloseStack } from '@palaver/service-kit';
import type { AuditLog, Store } from '@palaver/store';
import { createAuditLog } from '@palaver/store/internal';
import { createDidResolver, createVerifier, type Signer, type Verifier } from '@palaver/ucan';
import type { AuthorizeOptions } from '../auth/authorize.ts';
import { createSeal, deriveKey } from '../auth/seal.ts';
import type { AgentConfig } from '../config.ts';
import { createDelegationStore, type DelegationStore } from '../store/delegations.ts';
import type { AgentDatabase } from '../store/schema.ts';
import type { OracleIdentity } from '../store/sessions.ts';

export interface IdentityParts {
  config: AgentConfig;
  store: Store<AgentDatabase>;
  signer: Signer;
  /** Where the head of the audit log is kept outside the database. */
  auditHead?: Partial<Parameters<typeof createAuditLog>[1]>;
}

/** The agent's key and DIDs, and how callers are authenticated. */
export interface AgentIdentity {
  oracle: OracleIdentity;
  signer: Signer;
  audit: AuditLog<AgentDatabase>;
  delegations: DelegationStore;
  verifier: Verifier;
  auth: AuthorizeOptions;
}

export function createIdentity(
  { config, store, signer, auditHead }: IdentityParts,
  started: CloseStack,
): AgentIdentity {
  const audit = createAuditLog(store, {
    service: 'agent',
    referenceKey: deriveKey(signer.toSecret(), 'audit person'),
    retentionDays: config.RETENTION_AUDIT_DAYS,
    ...auditHead,
  });
  started.defer(() => audit.close());
  const oracle = toOracleIdentity(config, signer);
  const seal = createSeal(deriveKey(signer.toSecret(), 'delegations at rest'));
  const delegations = createDelegationStore(store, { agentDid: oracle.did, seal, referenceOf: audit.person });
  const verifier = createVerifier({
    audiences: [...new Set([oracle.did, oracle.keyDid])],
    maxTtlSeconds: config.UCAN_AUTH_MAX_TTL_SECONDS,
    delegationMaxTtlSeconds: config.UCAN_DELEGATION_MAX_TTL_SECONDS,
    resolveDid: createDidResolver({
      ...(config.GATEWAY_URL && {
        gatewayUrl: config.GATEWAY_URL,
        gatewayPrefix: config.GATEWAY_PREFIX,
        gatewayHeaders: toAccessHeaders({ apiKey: config.GATEWAY_API_KEY, ucan: config.GATEWAY_UCAN }),
      }),
      dnsServers: config.DNS_SERVERS,
    }),
    checkedKibPerMinute: config.UCAN_CHECKED_KIB_PER_MINUTE,
    findStanding: delegations.findStanding,
  });
  const auth = { verifier, allowDelegation: config.UCAN_ALLOW_DELEGATION_AUTH };
  return { oracle, signer, audit, delegations, verifier, auth };
}

function toOracleIdentity(config: AgentConfig, signer: Signer): OracleIdentity {
  const signingDid = signer.did();
  const keyDid = config.ORACLE_DID ?? signingDid;
  return { name: config.ORACLE_NAME, did: config.ORACLE_ENTITY_DID ?? keyDid, keyDid, signingDid };
}
