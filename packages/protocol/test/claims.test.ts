// A claim id is seen by everyone before it is in a block: someone else may submit it first.
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createGatewayClient } from '../src/gateway-client.ts';
import { type NewClaim, readClaim, readCollection, toSubmitClaim } from '../src/messages.ts';
import type { SigningAccount } from '../src/signing-account.ts';
import { createTxOutbox } from '../src/tx-outbox.ts';
import { migrations, startChain } from './start-chain.ts';

test('a claim that someone else submitted under our id is not ours', async () => {
  await using opened = new AsyncDisposableStack();
  const chain = await startChain(2, 1_000_000);
  opened.defer(() => chain.close());
  const gateway = createGatewayClient({ url: chain.gatewayUrl });
  const collection = await readCollection(gateway, '1');
  if (!collection.ok) throw new Error(collection.message);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const [own, stranger] = await Promise.all(
    (chain.payers as [SigningAccount, SigningAccount]).map(async (account) => {
      const database = opened.use(await createTestDatabase('sqlite'));
      const store = await openStore<Record<string, never>>(database.url);
      opened.defer(() => store.close());
      await store.migrate('test', migrations);
      const settled = new Map<string, string>();
      const outbox = createTxOutbox({
        store,
        service: 'test',
        gateway,
        account,
        logger,
        onSettled: async (_trx, row, outcome) => void settled.set(row.id, `${outcome} ${row.fault}`),
      });
      return async (id: string, claim: Partial<NewClaim> & { claimId: string }) => {
        const agent = { agentDid: `did:x:${account.address}`, agentAddress: account.address };
        const message = toSubmitClaim({ collectionId: '1', adminAddress: collection.admin, ...agent, ...claim });
        await store.transaction((trx) => outbox.add(trx, { id, message }, 1));
        await waitFor(`${id} to be settled`, async () => {
          await outbox.step();
          return settled.has(id);
        });
        return settled.get(id);
      };
    }),
  );
  if (!own || !stranger) throw new Error('there are two accounts');

  expect(await own('first', { claimId: 'ours' })).toBe('included null');
  // Its outcome was lost, so it is submitted again.
  expect(await own('again', { claimId: 'ours' })).toBe('included null');
  expect(await own('in another name', { claimId: 'ours', agentDid: 'did:x:other' })).toMatch(/^dead claims 1105/);

  expect(await stranger('sooner', { claimId: 'seen' })).toBe('included null');
  expect(await own('later', { claimId: 'seen' })).toMatch(/^dead claims 1105: .*another agent/);
  const [{ address: agentAddress }] = chain.payers as [SigningAccount];
  const kindOf = async (claimId: string, collectionId: string) => {
    const read = await readClaim(gateway, claimId, { collectionId, agentAddress });
    return read.ok || read.kind;
  };
  expect(
    await Promise.all([kindOf('ours', '1'), kindOf('ours', '2'), kindOf('seen', '1'), kindOf('none', '1')]),
  ).toEqual([true, 'foreign', 'foreign', 'missing']);
});
