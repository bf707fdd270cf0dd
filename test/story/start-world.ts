import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
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
} from '@palaver/protocol';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';

export type World = Awaited<ReturnType<typeof startWorld>>;
type TxMessage = Parameters<SigningAccount['sign']>[0]['messages'][number];

const seed = join(import.meta.dirname, '../../services/devnode/seed');

/** A node and a gateway that asks for a key, and Ana, whose DID of the protocol has a key and an account. */
export async function startWorld() {
  const dir = await createTempDir();
  const ownSeed = join(dir.path, 'seed');
  await mkdir(ownSeed);
  const account = await createSigningAccount(randomBytes(32).toString('hex'), { fee: '0uixo', gas: 300_000 });
  const payer = 'ixo1nke3x232fdp2dtw98yhd389ydfkjx87zgwwy6u';
  const coinsOf = (amount: number) => [{ denom: 'uixo', amount: String(amount) }];
  const balances = [
    { address: payer, coins: coinsOf(100_000_000) },
    { address: account.address, coins: coinsOf(1_000_000) },
  ];
  await writeFile(join(ownSeed, 'balances.json'), JSON.stringify(balances));
  const [ana, eve] = [await createPerson(account.address), await createPerson(account.address)];
  const documents = JSON.parse(await readFile(join(seed, 'iid-documents.json'), 'utf8')) as object[];
  await writeFile(join(ownSeed, 'iid-documents.json'), JSON.stringify([...documents, ana.document, eve.document]));
  const keys = join(dir.path, 'keys.json');
  const sha256 = '2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683'; // of "key"
  await writeFile(keys, JSON.stringify([{ name: 'story', sha256 }]));
  const env = { LOG_LEVEL: 'silent', PORT: '0', DATA_DIR: join(dir.path, 'node') };
  const node = await startDevnode({ ...env, DEVNODE_SEED: ownSeed, DEVNODE_BLOCK_MS: '200' });
  const gateway = await startGateway({
    ...env,
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_TX: 'true',
    GATEWAY_CACHE_TTL_MS: '50',
    GATEWAY_PREFIX: '/protocol',
    GATEWAY_AUTH: 'api-key',
    GATEWAY_API_KEYS_FILE: keys,
  });
  const access = { url: gateway.url, apiKey: 'key', prefix: '/protocol' };
  const client = createGatewayClient(access);
  await waitFor('the routes', async () => (await client.get('/ixo/claims/params')).ok);
  return {
    dir: dir.path,
    url: gateway.url,
    access,
    payer,
    ana: { ...ana, account },
    /** Her document names Ana's account. */
    eve,
    async amountOf(address: string): Promise<number> {
      const path = `/cosmos/bank/v1beta1/balances/${address}/by_denom`;
      const result = await client.get(path, { query: { denom: 'uixo' } });
      return Number((result as { value: { balance: { amount: string } } }).value.balance.amount);
    },
    /** Signs and sends a message, and waits for its block. */
    async transact(signer: SigningAccount, message: TxMessage, memo: string): Promise<void> {
      const [latest, own] = [await readLatestBlock(client), await readAccount(client, signer.address)];
      if (!latest.ok || !own.ok) throw new Error('the chain can be read');
      const { bytes, hash } = await signer.sign({
        messages: [message],
        memo,
        chainId: latest.chainId,
        ...own,
        timeoutHeight: latest.height + 1_000,
      });
      const sent = await broadcastTx(client, Buffer.from(bytes).toString('base64'));
      if (!sent.ok || sent.code !== 0) throw new Error(`the node refused a transaction: ${JSON.stringify(sent)}`);
      await waitFor('the block', async () => (await readTx(client, hash)).ok);
    },
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await node.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** A DID of the protocol with a key, and the document that names an account: anyone's, for the chain does not ask its owner. */
async function createPerson(address: string) {
  const key = await createSigner();
  const did = `did:x:${key.did().slice('did:key:'.length)}`;
  const document = {
    id: did,
    controller: [did],
    service: [],
    authentication: [`${did}#key`],
    verificationMethod: [
      { id: `${did}#key`, type: 'Multikey', controller: did, publicKeyMultibase: did.slice('did:x:'.length) },
      { id: `${did}#account`, type: 'CosmosAccountAddress', controller: did, blockchainAccountID: address },
    ],
  };
  return { did, signer: key.withDid(did as ReturnType<typeof key.did>), document };
}
