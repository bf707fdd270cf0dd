import { AppError } from '@palaver/contract';
import type { KeyRing } from '@palaver/store/internal';

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

export type CallerReferences = ReturnType<typeof createCallerReferences>;
