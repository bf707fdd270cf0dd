import type { Env } from '@palaver/service-kit';
import { createPersonData, type PersonData } from '../accounts/person-data.ts';
import { toPhoneDid } from '../assistant/phone-transport.ts';
import { withDatabase } from './open-database.ts';

/** Opens the gateway's database for `palaver user`. */
export function withPersonData<T>(
  env: Env,
  use: (data: PersonData, didOf: (phone: string) => Promise<string>) => Promise<T>,
): Promise<T> {
  return withDatabase(env, ({ store, audit, secret }) =>
    use(createPersonData(store, audit), (phone) => toPhoneDid(secret, phone)),
  );
}
