import { createHash } from 'node:crypto';
import { bech32 } from '@scure/base';

const prefix = 'ixo';

/** The address of a compressed secp256k1 key. */
export function toAddress(publicKey: Uint8Array): string {
  const digest = createHash('ripemd160').update(createHash('sha256').update(publicKey).digest()).digest();
  return bech32.encode(prefix, bech32.toWords(digest));
}

export function isAddress(text: string): boolean {
  return bech32.decodeUnsafe(text)?.prefix === prefix;
}

/** Every address is an account from the start; its number follows from the address, so that nothing has to be kept. */
export function toAccountNumber(address: string): bigint {
  return BigInt(`0x${createHash('sha256').update(address).digest('hex').slice(0, 12)}`);
}
