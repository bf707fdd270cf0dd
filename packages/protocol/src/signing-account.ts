import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { DirectSecp256k1HdWallet, DirectSecp256k1Wallet, makeAuthInfoBytes, makeSignDoc } from '@cosmjs/proto-signing';
import { envInteger, type Logger, StartError } from '@palaver/service-kit';
import { isProduction, loadOrCreateSecretFile, prepareDataDir } from '@palaver/service-kit/internal';
import { PubKey } from 'cosmjs-types/cosmos/crypto/secp256k1/keys';
import { TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx';
import { z } from 'zod';
import { nodeAddressPattern } from './gateway-client.ts';

/** Each service needs an account of its own: two with one would use the same sequences. */
export function envSigningKey() {
  return z
    .string()
    .regex(/^(?:[0-9a-fA-F]{64}|[a-z]+(?: [a-z]+){11,23})$/, 'expected 64 hexadecimal digits or a mnemonic')
    .optional()
    .meta({
      description:
        'Key of the account with which this service signs transactions: 32 bytes in hexadecimal, or a mnemonic. If not set, one is created at the first start, except in production.',
      example: '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0',
      secret: true,
    });
}

export const signingVariables = {
  SIGNING_NODE: z.string().regex(nodeAddressPattern, 'expected host:port or tls://host:port').optional().meta({
    description:
      "The node's own gRPC interface, to which signed transactions are sent. If not set, they go to GATEWAY_URL, which then needs GATEWAY_TX=true. `palaver up` sets it to the embedded node.",
    example: '127.0.0.1:9090',
  }),
  SIGNING_FEE: z
    .string()
    .refine((text) => parseCoin(text) !== undefined, 'expected an amount such as 5000uixo')
    .prefault('0uixo')
    .meta({ description: 'Fee of a transaction, for each message in it.', example: '5000uixo' }),
  SIGNING_GAS: envInteger({ min: 1, max: 100_000_000 })
    .prefault('300000')
    .meta({ description: 'Gas limit of a transaction, for each message in it.' }),
};

/** One message of a transaction: its type and its bytes. */
export interface TxMessage {
  typeUrl: string;
  value: Uint8Array;
}

interface TxToSign {
  messages: readonly TxMessage[];
  memo: string;
  chainId: string;
  accountNumber: number;
  sequence: number;
  timeoutHeight: number;
}

/** An account of the chain and its key. */
export interface SigningAccount {
  address: string;
  sign(tx: TxToSign): Promise<{ bytes: Uint8Array; hash: string }>;
}

const prefix = 'ixo';

/**
 * An account from 32 bytes in hexadecimal or a mnemonic.
 *
 * @example
 * ```ts
 * import { createSigningAccount } from '@palaver/protocol';
 *
 * const account = await createSigningAccount('0f'.repeat(32), { fee: '5000uixo', gas: 300_000 });
 * console.log(account.address);
 * ```
 */
export async function createSigningAccount(
  key: string,
  { fee, gas }: { fee: string; gas: number },
): Promise<SigningAccount> {
  const wallet = key.includes(' ')
    ? await DirectSecp256k1HdWallet.fromMnemonic(key, { prefix })
    : await DirectSecp256k1Wallet.fromKey(Buffer.from(key, 'hex'), prefix);
  const [account] = await wallet.getAccounts();
  if (!account) throw new Error('a wallet has an account');
  const pubkey = { typeUrl: PubKey.typeUrl, value: PubKey.encode({ key: account.pubkey }).finish() };
  const coin = parseCoin(fee);
  if (!coin) throw new Error('the fee is no amount such as 5000uixo');
  const { amount, denom } = coin;
  return {
    address: account.address,
    async sign({ messages, memo, chainId, accountNumber, sequence, timeoutHeight }) {
      const bodyBytes = encodeBody({ messages, memo, timeoutHeight });
      const total = amount * BigInt(messages.length);
      const coins = total > 0n ? [{ denom, amount: String(total) }] : [];
      const signers = [{ pubkey, sequence }];
      const authInfoBytes = makeAuthInfoBytes(signers, coins, gas * messages.length, undefined, undefined);
      const doc = makeSignDoc(bodyBytes, authInfoBytes, chainId, accountNumber);
      const { signature } = await wallet.signDirect(account.address, doc);
      const signatures = [Buffer.from(signature.signature, 'base64')];
      const bytes = TxRaw.encode({ bodyBytes, authInfoBytes, signatures }).finish();
      return { bytes, hash: createHash('sha256').update(bytes).digest('hex').toUpperCase() };
    },
  };
}

/** `cosmjs-types` writes heights between 2^31 and 2^32 wrong, which fast development nodes reach. */
function encodeBody({ messages, memo, timeoutHeight }: Pick<TxToSign, 'messages' | 'memo' | 'timeoutHeight'>) {
  const writer = new BinaryWriter();
  for (const { typeUrl, value } of messages) {
    writer.tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(typeUrl).tag(2, WireType.LengthDelimited).bytes(value).join();
  }
  if (memo !== '') writer.tag(2, WireType.LengthDelimited).string(memo);
  return writer.tag(3, WireType.Varint).uint64(BigInt(timeoutHeight)).finish();
}

interface SigningConfig {
  NODE_ENV: string;
  DATA_DIR: string;
  SIGNING_FEE: string;
  SIGNING_GAS: number;
}

export async function loadSigningAccount(
  config: SigningConfig,
  { service, key, logger }: { service: string; key: string | undefined; logger: Pick<Logger, 'warn'> },
): Promise<SigningAccount> {
  const options = { fee: config.SIGNING_FEE, gas: config.SIGNING_GAS };
  const name = `${service.toUpperCase()}_SIGNING_KEY`;
  if (key !== undefined) return createSigningAccount(key, options);
  if (isProduction(config.NODE_ENV)) {
    throw new StartError(
      `${name} is not set: production needs a signing key of its own, such as \`openssl rand -hex 32\``,
    );
  }
  const path = join(prepareDataDir(config.DATA_DIR), `${service}-account.key`);
  const { secret, created } = loadOrCreateSecretFile(path, () => randomBytes(32).toString('hex'));
  const account = await createSigningAccount(secret, options);
  logger.warn({ path, created, address: account.address }, `${name} is not set: a development key is used`);
  return account;
}

const coinPattern = /^(0|[1-9]\d{0,30})([a-zA-Z][a-zA-Z0-9/:._-]{2,127})$/;

export interface Coin {
  amount: bigint;
  denom: string;
}

export function parseCoin(text: string): Coin | undefined {
  const [, amount, denom] = coinPattern.exec(text) ?? [];
  return amount === undefined || denom === undefined ? undefined : { amount: BigInt(amount), denom };
}

export function envCoin(example = '1000uixo') {
  return z.string().transform((text, context): Coin => {
    const coin = parseCoin(text);
    if (coin && coin.amount > 0n) return coin;
    context.addIssue({ code: 'custom', message: `expected an amount such as ${example}` });
    return z.NEVER;
  });
}

/** `38500000 uixo` is 38.5 IXO; bridged coins are shown by the start of their hash. */
export function formatCoin({ denom, amount }: { denom: string; amount: string }): string {
  const micro = /^u([a-z]{2,15})$/.exec(denom)?.[1];
  if (!micro) return `${amount} ${denom.startsWith('ibc/') ? `ibc/${denom.slice(4, 10)}` : denom}`;
  const padded = amount.padStart(7, '0');
  const decimals = padded.slice(-6).replace(/0+$/, '');
  return `${padded.slice(0, -6)}${decimals && `.${decimals}`} ${micro.toUpperCase()}`;
}
