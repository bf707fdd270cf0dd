import { AppError } from '@palaver/contract';
import { encryptTables, type KeyRing } from '@palaver/store/internal';
import { createPersonalData } from '../store/personal-data.ts';
import type { By, Trx, UssdAudit, UssdStore } from '../store/tables.ts';
import type { TextHash } from '../store/text-hash.ts';

export function createPersonData(store: UssdStore, audit: UssdAudit, textHash: Pick<TextHash, 'ofErased'>) {
  const personalData = createPersonalData(textHash);
  return {
    async export(phoneNumber: string, by: By) {
      const data = await store.transaction(async (trx) => {
        await audit.record({ ...by, action: 'data.exported', subject: audit.person(phoneNumber) }, trx);
        return personalData.collect(trx, store.cipher.token(phoneNumber), store.cipher);
      });
      return { phoneNumber, exportedAt: new Date().toISOString(), data };
    },
    async encrypt(by: By) {
      const rows = await encryptTables(store, personalData.sealed ?? []);
      await audit.record({ ...by, action: 'keys.rotated', details: { rows } });
      return rows;
    },
    async erase(phone: string, by: By) {
      const erase = async (trx: Trx) => {
        await personalData.erase(trx, store.cipher.token(phone));
        await audit.record({ ...by, action: 'data.erased', subject: audit.person(phone) }, trx);
      };
      // Each statement sees what was committed while the one before it waited.
      await store.transaction(erase, { isolation: 'read committed' });
    },
  };
}

export type PersonData = ReturnType<typeof createPersonData>;

const about = 'caller reference';

/** Represents a phone number in lists that show it masked; only the service can decrypt it. */
export function createCallerReferences(keys: KeyRing) {
  return {
    create: (phoneNumber: string) => keys.seal(Buffer.from(phoneNumber), about),
    /** Throws for what the service has not made. */
    open(reference: string) {
      try {
        return keys.open(reference, about).toString();
      } catch {
        throw new AppError('VALIDATION_FAILED', 'caller: is not a reference of this service. Load the list again.');
      }
    },
  };
}
