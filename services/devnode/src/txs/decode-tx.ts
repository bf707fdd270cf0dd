import { createHash, createPublicKey, ECDH, verify } from 'node:crypto';
import { create, type DescMessage, type FileRegistry, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import type { Any } from '@bufbuild/protobuf/wkt';
import { bech32 } from '@scure/base';
import type { Chain } from '../chain.ts';
import { getMessage } from '../protocol.ts';
import type { Coin } from '../world/world.ts';

export type TxMessage = Message & Record<string, unknown>;

export interface Tx {
  bytes: Uint8Array;
  /** SHA-256 in upper-case hexadecimal. */
  hash: string;
  message: Message;
  signer: string;
  publicKey: Any;
  sequence: bigint;
  messages: TxMessage[];
  memo: string;
  timeoutHeight: bigint;
  fee: Coin[];
  gasLimit: bigint;
}

type TxRaw = Message & { bodyBytes: Uint8Array; authInfoBytes: Uint8Array; signatures: Uint8Array[] };
type TxBody = Message & { messages: Any[]; memo: string; timeoutHeight: bigint; extensionOptions: Any[] };
type SignerInfo = {
  publicKey?: Any;
  modeInfo?: { sum: { case?: string; value?: { mode: number } } };
  sequence: bigint;
};
type AuthInfo = Message & { signerInfos: SignerInfo[]; fee?: { amount: Coin[]; gasLimit: bigint; payer: string } };

const keyType = 'cosmos.crypto.secp256k1.PubKey';
const signModeDirect = 1;
const maxMessages = 100;
const maxMemo = 256;
/** Half of the order of secp256k1: of the two signatures that fit, only the one with the smaller half is accepted. */
const halfOrder = Buffer.from('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0', 'hex');

export function createTxDecoder(protocol: FileRegistry, chain: Chain) {
  const desc = (name: string) => getMessage(protocol, `cosmos.tx.v1beta1.${name}`);
  const descs = { Tx: desc('Tx'), TxRaw: desc('TxRaw'), TxBody: desc('TxBody'), AuthInfo: desc('AuthInfo') };
  const signDoc = desc('SignDoc');
  const keyDesc = getMessage(protocol, keyType);

  const unpack = ({ typeUrl, value }: Any): TxMessage | undefined => {
    const type = protocol.getMessage(typeUrl.replace(/^.*\//, ''));
    return type && (parse(type, value) as TxMessage | undefined);
  };

  return {
    unpack,
    decode(bytes: Uint8Array): { ok: true; tx: Tx } | TxFault {
      const raw = parse<TxRaw>(descs.TxRaw, bytes);
      const body = raw && parse<TxBody>(descs.TxBody, raw.bodyBytes);
      const auth = raw && parse<AuthInfo>(descs.AuthInfo, raw.authInfoBytes);
      const message = parse(descs.Tx, bytes);
      if (!raw || !body || !auth || !message) return refuseTx('decode', 'tx parse error');
      // It is unknown what the signer meant by them.
      if ([raw, body, auth].some(({ $unknown }) => $unknown?.length)) return refuseTx('decode', 'unknown fields');
      const [info, ...others] = auth.signerInfos;
      if (!info?.publicKey || others.length > 0 || raw.signatures.length !== 1) {
        return refuseTx('unauthorized', 'this node takes transactions with one signer');
      }
      const { sum } = info.modeInfo ?? {};
      if (sum?.case !== 'single' || sum.value?.mode !== signModeDirect) {
        return refuseTx('unauthorized', 'this node verifies SIGN_MODE_DIRECT alone');
      }
      if (info.publicKey.typeUrl !== `/${keyType}`) return refuseTx('unauthorized', 'this node takes secp256k1 keys');
      const key = parse<Message & { key: Uint8Array }>(keyDesc, info.publicKey.value)?.key;
      if (key?.length !== 33) return refuseTx('decode', 'a secp256k1 key has 33 bytes');
      if (body.extensionOptions.length > 0) return refuseTx('unknownRequest', 'unknown extension options');
      if (body.messages.length === 0 || body.messages.length > maxMessages) {
        return refuseTx('unknownRequest', `expected 1 to ${maxMessages} messages`);
      }
      if ([...body.memo].length > maxMemo)
        return refuseTx('memoTooLarge', `maximum number of characters is ${maxMemo}`);
      const messages = body.messages.map(unpack);
      const unknown = messages.indexOf(undefined);
      if (unknown >= 0) return refuseTx('decode', `unable to resolve type URL ${body.messages[unknown]?.typeUrl}`);
      const tx: Tx = {
        bytes,
        hash: createHash('sha256').update(bytes).digest('hex').toUpperCase(),
        message,
        signer: toAddress(key),
        publicKey: info.publicKey,
        sequence: info.sequence,
        messages: messages as TxMessage[],
        memo: body.memo,
        timeoutHeight: body.timeoutHeight,
        fee: auth.fee?.amount ?? [],
        gasLimit: auth.fee?.gasLimit ?? 0n,
      };
      return { ok: true, tx };
    },
    isSigned(tx: Tx): boolean {
      const raw = parse<TxRaw>(descs.TxRaw, tx.bytes);
      const key = parse<Message & { key: Uint8Array }>(keyDesc, tx.publicKey.value)?.key;
      const [signature] = raw?.signatures ?? [];
      if (!raw || !key || signature?.length !== 64) return false;
      const signed = create(signDoc, {
        bodyBytes: raw.bodyBytes,
        authInfoBytes: raw.authInfoBytes,
        chainId: chain.id,
        accountNumber: toAccountNumber(tx.signer),
      } as never);
      return isSignedBy(key, toBinary(signDoc, signed), signature);
    },
  };
}

export type TxDecoder = ReturnType<typeof createTxDecoder>;

function parse<T extends Message>(desc: DescMessage, bytes: Uint8Array): T | undefined {
  try {
    return fromBinary(desc, bytes) as T;
  } catch {
    return undefined;
  }
}

function isSignedBy(key: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (Buffer.compare(signature.subarray(32), halfOrder) > 0) return false;
  try {
    const point = ECDH.convertKey(key, 'secp256k1', undefined, undefined, 'uncompressed') as Buffer;
    const coordinate = (from: number) => point.subarray(from, from + 32).toString('base64url');
    const jwk = { kty: 'EC', crv: 'secp256k1', x: coordinate(1), y: coordinate(33) };
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
    return verify('sha256', bytes, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature);
  } catch {
    return false; // no point of the curve
  }
}

export interface TxFault {
  ok: false;
  codespace: string;
  code: number;
  log: string;
}

/** Codes of the Cosmos SDK that wallets and libraries act on. */
const sdkCodes = {
  decode: 2,
  unauthorized: 4,
  insufficientFunds: 5,
  unknownRequest: 6,
  invalidAddress: 7,
  invalidCoins: 10,
  outOfGas: 11,
  memoTooLarge: 12,
  alreadyInPool: 19,
  poolIsFull: 20,
  timeoutHeight: 30,
  wrongSequence: 32,
} as const;

export function refuseTx(name: keyof typeof sdkCodes, log: string): TxFault {
  return { ok: false, codespace: 'sdk', code: sdkCodes[name], log };
}

export function refuseClaim(code: number, log: string): TxFault {
  return { ok: false, codespace: 'claims', code, log };
}

const prefix = 'ixo';

export function toAddress(publicKey: Uint8Array): string {
  const digest = createHash('ripemd160').update(createHash('sha256').update(publicKey).digest()).digest();
  return bech32.encode(prefix, bech32.toWords(digest));
}

export function isAddress(text: string): boolean {
  return bech32.decodeUnsafe(text)?.prefix === prefix;
}

/** Every address is an account from the start; its number follows from the address, so nothing has to be stored. */
export function toAccountNumber(address: string): bigint {
  return BigInt(`0x${createHash('sha256').update(address).digest('hex').slice(0, 12)}`);
}
