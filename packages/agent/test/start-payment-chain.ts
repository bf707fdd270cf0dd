import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startDevnode } from '@palaver/devnode';
import { startGateway } from '@palaver/gateway';
import {
  broadcastTx,
  createGatewayClient,
  createSigningAccount,
  readAccount,
  readLatestBlock,
  readTx,
  type SigningAccount,
  toEvaluateClaim,
  toSend,
} from '@palaver/protocol';
import { createTempDir, waitFor } from '@palaver/test-kit';

type TxMessage = Parameters<SigningAccount['sign']>[0]['messages'][number];

const collectionAdmin = 'ixo1lrwx36agqruf2tlp6jzr9snsee09ksrvue5j3j';
const collectionPayer = 'ixo1nke3x232fdp2dtw98yhd389ydfkjx87zgwwy6u';

/** A node and a gateway, and someone who pays to an address. */
export async function startPaymentChain() {
  const closing = new AsyncDisposableStack();
  const dir = closing.use(await createTempDir());
  const payer = await createSigningAccount(randomBytes(32).toString('hex'), { fee: '0uixo', gas: 200_000 });
  const { address: payTo } = await createSigningAccount(randomBytes(32).toString('hex'), { fee: '0uixo', gas: 1 });
  const funds = [payer.address, collectionPayer].map((address) => ({
    address,
    coins: [{ denom: 'uixo', amount: '1000000000' }],
  }));
  await writeFile(join(dir.path, 'balances.json'), JSON.stringify(funds));
  const env = { PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: join(dir.path, 'node') };
  const node = await startDevnode({ ...env, DEVNODE_SEED: dir.path, DEVNODE_BLOCK_MS: '200' });
  closing.defer(() => node.close());
  const gateway = await startGateway({
    ...env,
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_CACHE_TTL_MS: '50',
  });
  closing.defer(() => gateway.close());
  const client = createGatewayClient({ url: gateway.url, node: node.address });
  await waitFor('the routes', async () => (await client.get('/ixo/claims/params')).ok);

  const transact = async (message: TxMessage, memo: string) => {
    const [latest, account] = [await readLatestBlock(client), await readAccount(client, payer.address)];
    if (!latest.ok || !account.ok) throw new Error('the chain can be read');
    const { bytes, hash } = await payer.sign({
      messages: [message],
      memo,
      chainId: latest.chainId,
      ...account,
      timeoutHeight: latest.height + 1_000,
    });
    await broadcastTx(client, Buffer.from(bytes).toString('base64'));
    await waitFor('the block', async () => (await readTx(client, hash)).ok);
  };
  const pay = (amount: number, memo: string) =>
    transact(toSend({ from: payer.address, to: payTo, coins: [{ denom: 'uixo', amount: String(amount) }] }), memo);
  /** Evaluates a claim of collection 1. */
  const evaluate = (claimId: string, isApproved: boolean) => {
    const by = { agentDid: 'did:x:e', agentAddress: payer.address, adminAddress: collectionAdmin, oracle: 'did:x:o' };
    return transact(toEvaluateClaim({ claimId, collectionId: '1', ...by, isApproved }), '');
  };
  return {
    pay,
    evaluate,
    client,
    payTo,
    /** How an agent reaches them. */
    env: { GATEWAY_URL: gateway.url, SIGNING_NODE: node.address },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
