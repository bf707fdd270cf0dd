import { createAuditLog, keepAuditHead, toAnchorPath } from '@palaver/store/internal';
import type { Deployment } from '../store/deployment.ts';
import { createTextHash } from '../store/text-hash.ts';
import { createAccounts } from './accounts.ts';
import { createAddressChanges } from './address-changes.ts';
import { createLinking, createLinks } from './links.ts';
import { createCallerReferences, createPersonData } from './person-data.ts';
import { createPinVault } from './pin-vault.ts';
import { createProfiles } from './profiles.ts';
import { loadServiceSecret, toReferenceKey } from './service-secret.ts';
import { createSimSwapCheck } from './sim-swap.ts';

export async function startPeople(deployment: Deployment) {
  const { config, store, keys, logger, clock, access, started } = deployment;
  const secret = await loadServiceSecret(store, keys);
  const textHash = createTextHash(secret);
  const audit = createAuditLog(store, {
    service: 'ussd',
    referenceKey: toReferenceKey(secret),
    retentionDays: config.RETENTION_AUDIT_DAYS,
    ...keepAuditHead(toAnchorPath(config.DATA_DIR, 'ussd'), logger),
  });
  started.defer(() => audit.close());
  return {
    secret,
    textHash,
    audit,
    accounts: createAccounts(store, { vault: createPinVault(keys), audit, clock }),
    addressChanges: createAddressChanges(store, audit),
    personData: createPersonData(store, audit, textHash),
    profiles: createProfiles(store, {
      defaultLanguage: config.USSD_LANGUAGE,
      resumeMs: config.RESUME_MINUTES * 60_000,
    }),
    callerReferences: createCallerReferences(keys),
    links: createLinks({ store, secret, clock }),
    linking: await createLinking(secret, access),
    simSwap: createSimSwapCheck(deployment),
  };
}

export type People = Awaited<ReturnType<typeof startPeople>>;
