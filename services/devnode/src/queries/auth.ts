import { create } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import { refuseArgument } from '../refusal.ts';
import { isAddress, toAccountNumber } from '../txs/address.ts';
import { type Answer, answer, type Query, type View } from './query.ts';

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
