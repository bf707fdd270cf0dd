import { AppError } from '@palaver/contract';
import type { KeyRing } from '@palaver/store/internal';

/** Represents a phone number in lists that show it masked; only the service can decrypt it. */
export interface CallerReferences {
  create(phoneNumber: string): string;
  /** Throws for what the service has not made. */
  open(reference: string): string;
}

const about = 'caller reference';

export function createCallerReferences(keys: KeyRing): CallerReferences {
  return {
    create: (phoneNumber) => keys.seal(Buffer.from(phoneNumber), about),
    open(reference) {
      try {
        return keys.open(reference, about).toString();
      } catch {
        throw new AppError('VALIDATION_FAILED', 'caller: is not a reference of this service. Load the list again.');
      }
    },
  };
}
