import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { createLimiter } from '@palaver/service-kit/internal';
import type { KeyRing } from '@palaver/store/internal';

interface ScryptCost {
  N: number;
  r: number;
  p: number;
}

// About 40 ms and 16 MiB: the seal keeps a stolen table useless, this keeps a stolen table with its key slow.
const cost: ScryptCost = { N: 2 ** 14, r: 8, p: 1 };
const hashBytes = 32;

/** Makes and checks the records of PINs: a slow salted hash, sealed, bound to the account. */
export function createPinVault(keys: KeyRing) {
  // Hashing runs on Node's thread pool of four; two at a time leave room for name lookups and files.
  const limit = createLimiter({
    concurrency: 2,
    maxWaiting: 500,
    toError: () => new Error('too many PINs are waiting to be checked'),
  });
  return {
    async create(pin: string, accountId: string) {
      const salt = randomBytes(16);
      const hash = await limit(() => hashPin(pin, salt, cost));
      const plain = JSON.stringify({ ...cost, salt: salt.toString('base64'), hash: hash.toString('base64') });
      return keys.seal(Buffer.from(plain), accountId);
    },
    async verify(pin: string, record: string, accountId: string) {
      const { salt, hash, ...kept } = JSON.parse(keys.open(record, accountId).toString()) as ScryptCost & {
        salt: string;
        hash: string;
      };
      const given = await limit(() => hashPin(pin, Buffer.from(salt, 'base64'), kept));
      return timingSafeEqual(given, Buffer.from(hash, 'base64'));
    },
    /** Whether two records are of one hash: a rotation of keys seals it again. */
    isSame: (record: string, other: string, accountId: string) =>
      record === other || keys.open(record, accountId).equals(keys.open(other, accountId)),
    /** The same record under the current key. */
    reseal: (record: string, accountId: string) => keys.seal(keys.open(record, accountId), accountId),
  };
}

export type PinVault = ReturnType<typeof createPinVault>;

function hashPin(pin: string, salt: Buffer, { N, r, p }: ScryptCost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(pin, salt, hashBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}
