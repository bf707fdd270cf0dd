import { create } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import { refuseArgument, refuseByModule } from '../chain.ts';
import { isAddress, toAccountNumber } from '../txs/decode-tx.ts';
import { createTable } from '../world/world.ts';
import { type Answer, answer, answerPage, type ById, type Paged, type Query, type View } from './query.ts';

export const authQueries = {
  Account: (view, { address }: { address: string }) =>
    withAccount(address, () => {
      const account = create(view.descs.account, toAccount(view, address) as never);
      return answer({ account: anyPack(view.descs.account, account) });
    }),
  AccountInfo: (view, { address }: { address: string }) =>
    withAccount(address, () => answer({ info: toAccount(view, address) })),
} satisfies Record<string, Query>;

function withAccount(address: string, toAnswer: () => Answer): Answer {
  if (address === '') return refuseArgument('Address cannot be empty');
  return isAddress(address) ? toAnswer() : refuseArgument(`decoding bech32 failed: ${address}`);
}

function toAccount({ txs }: View, address: string) {
  return {
    address,
    pubKey: txs.publicKeyOf(address),
    accountNumber: toAccountNumber(address),
    sequence: txs.sequenceOf(address),
  };
}

const emptyAddress = 'invalid address: empty address string is not allowed';

// An address nobody has used owns nothing; that is an answer, not an error.
export const bankQueries = {
  Balance({ world }, { address, denom }: { address: string; denom: string }) {
    if (address === '') return refuseArgument(emptyAddress);
    if (denom === '') return refuseArgument('invalid denom');
    return answer({ balance: world.coinsByAddress.get(address)?.get(denom) ?? { denom, amount: '0' } });
  },
  AllBalances({ world }, { address, pagination }: Paged & { address: string }) {
    if (address === '') return refuseArgument(emptyAddress);
    return answerPage('balances', world.coinsByAddress.get(address)?.rows ?? [], pagination);
  },
  TotalSupply({ world }, { pagination }: Paged) {
    const supply = new Map<string, bigint>();
    for (const { rows } of world.coinsByAddress.values()) {
      for (const { value } of rows) supply.set(value.denom, (supply.get(value.denom) ?? 0n) + BigInt(value.amount));
    }
    const coins = [...supply].map(([denom, amount]) => ({ denom, amount: String(amount) }));
    return answerPage('supply', createTable(coins, ({ denom }) => denom).rows, pagination);
  },
} satisfies Record<string, Query>;

export const tokenQueries = {
  Params: ({ world }) => answer({ params: world.params.token }),

  // As on a chain, from two records: that of the token id and that of the token's name.
  TokenMetadata({ world }, { id }: ById) {
    if (id === '') return refuseArgument('invalid request');
    const properties = world.tokenProperties.get(id);
    const token = properties && world.tokensByName.get(properties.name);
    if (!token) {
      const detail = `token properties not found for ${id}: no TokenProperties for token ${id}`;
      return refuseByModule('token', 1002, `token properties not found: ${detail}`);
    }
    return answer({
      name: token.name,
      description: token.description,
      decimals: '0',
      image: token.image,
      index: properties.index,
      properties: {
        class: token.class,
        collection: properties.collection,
        cap: token.cap,
        linkedResources: properties.tokenData,
      },
    });
  },

  TokenList({ world }, { minter, pagination }: Paged & { minter: string }) {
    if (minter === '') return refuseArgument('invalid request');
    return answerPage('tokenDocs', world.tokensByMinter.get(minter)?.rows ?? [], pagination);
  },

  TokenDoc({ world }, { minter, contractAddress }: { minter: string; contractAddress: string }) {
    if (minter === '' || contractAddress === '') return refuseArgument('invalid request');
    const tokenDoc = world.tokensByMinter.get(minter)?.get(contractAddress);
    if (tokenDoc) return answer({ tokenDoc });
    const detail = `token not found minter ${minter} and contract address ${contractAddress}`;
    return refuseByModule('token', 1001, `token not found: ${detail}`);
  },
} satisfies Record<string, Query>;
