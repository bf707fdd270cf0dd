import { join } from 'node:path';
import { ucanLimits } from '@palaver/contract';
import { toAccessHeaders } from '@palaver/protocol/internal';
import { type CloseStack, type Logger, StartError } from '@palaver/service-kit';
import { loadOrCreateSecretFile, prepareDataDir } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { createAuditLog } from '@palaver/store/internal';
import { createDidResolver, createSigner, createVerifier, parseSigner, type Signer } from '@palaver/ucan';
import type { AuthorizeOptions } from '../auth/authorize.ts';
import { createSeal, deriveKey } from '../auth/seal.ts';
import { type AgentConfig, writesPerMinute } from '../config.ts';
import { createDelegationStore } from '../store/delegations.ts';
import type { AgentDatabase } from '../store/schema.ts';
import type { OracleIdentity } from '../store/sessions.ts';

/** The agent's own key: given, or made at the first start and kept in the data folder. */
export async function loadSigner(config: Pick<AgentConfig, 'DATA_DIR' | 'ORACLE_PRIVATE_KEY'>, logger: Logger) {
  let secret = config.ORACLE_PRIVATE_KEY;
  if (secret === undefined) {
    const path = join(prepareDataDir(config.DATA_DIR), 'agent.key');
    const fresh = (await createSigner()).toSecret();
    const kept = loadOrCreateSecretFile(path, () => fresh);
    if (kept.created) logger.info(`made a key for the agent in ${path}`);
    secret = kept.secret;
  }
  const parsed = await parseSigner(secret);
  if (!parsed.ok) throw new StartError(`ORACLE_PRIVATE_KEY: ${parsed.error.message}.`);
  return parsed.ok;
}

interface IdentityParts {
  config: AgentConfig;
  store: Store<AgentDatabase>;
  signer: Signer;
  auditHead?: Partial<Parameters<typeof createAuditLog>[1]>;
}

export type AgentIdentity = ReturnType<typeof createIdentity>;

export function createIdentity({ config, store, signer, auditHead }: IdentityParts, started: CloseStack) {
  const audit = createAuditLog(store, {
    service: 'agent',
    referenceKey: deriveKey(signer.toSecret(), 'audit person'),
    retentionDays: config.RETENTION_AUDIT_DAYS,
    ...auditHead,
  });
  started.defer(() => audit.close());
  const signingDid = signer.did();
  const keyDid = config.ORACLE_DID ?? signingDid;
  const did = config.ORACLE_ENTITY_DID ?? keyDid;
  const oracle: OracleIdentity = { name: config.ORACLE_NAME, did, keyDid, signingDid };
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
    checkedKibPerMinute: Math.max(writesPerMinute(config), ucanLimits.checkedKibPerMinute),
    findStanding: delegations.findStanding,
  });
  const auth: AuthorizeOptions = { verifier, allowDelegation: config.UCAN_ALLOW_DELEGATION_AUTH };
  return { oracle, signer, audit, delegations, verifier, auth };
}
