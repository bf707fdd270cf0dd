import type { Env } from '@palaver/service-kit';
import { toPhoneDid } from '../outgoing/phone-transport.ts';
import { createPersonData, type PersonData } from '../people/person-data.ts';
import { createTextHash } from '../store/text-hash.ts';
import { withDatabase } from './open-database.ts';

/** Opens the gateway's database for `palaver user`. */
export function withPersonData<T>(
  env: Env,
  use: (data: PersonData, didOf: (phone: string) => Promise<string>) => Promise<T>,
): Promise<T> {
  return withDatabase(env, ({ store, audit, secret }) =>
    use(createPersonData(store, audit, createTextHash(secret)), (phone) => toPhoneDid(secret, phone)),
  );
}
