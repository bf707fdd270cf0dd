import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startDevnode } from '@palaver/devnode';
import { startGateway } from '@palaver/gateway';
import type { Migration } from '@palaver/store';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { createGatewayClient } from '../src/gateway-client.ts';
import { createOutboxTables } from '../src/outbox-table.ts';
import { createSigningAccount, type SigningAccount } from '../src/signing-account.ts';

const seed = join(import.meta.dirname, '../../../services/devnode/seed');

export const migrations: Migration[] = [{ name: '0001', up: (db) => createOutboxTables(db, 'test') }];

export const createAccount = () =>
  createSigningAccount(randomBytes(32).toString('hex'), { fee: '10uixo', gas: 200_000 });

export interface TestChain {
  gatewayUrl: string;
  nodeAddress: string;
  payers: SigningAccount[];
  close(): Promise<void>;
}

/** A node with a block every 100 ms, a gateway, accounts that have coins, and DIDs whose documents name the first of them. */
export async function startChain(payerCount: number, funds: number, dids: string[] = []): Promise<TestChain> {
  const dir = await createTempDir();
  const payers = await Promise.all(Array.from({ length: payerCount }, createAccount));
  const coins = [{ denom: 'uixo', amount: String(funds) }];
  await writeFile(join(dir.path, 'balances.json'), JSON.stringify(payers.map(({ address }) => ({ address, coins }))));
  const blockchainAccountID = payers[0]?.address;
  const documents = dids.map((id) => ({
    id,
    controller: [id],
    service: [],
    authentication: [],
    verificationMethod: [{ id: `${id}#account`, type: 'CosmosAccountAddress', controller: id, blockchainAccountID }],
  }));
  const others = JSON.parse(await readFile(join(seed, 'iid-documents.json'), 'utf8')) as object[];
  await writeFile(join(dir.path, 'iid-documents.json'), JSON.stringify([...others, ...documents]));
  const env = { PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: join(dir.path, 'data') };
  const node = await startDevnode({ ...env, DEVNODE_SEED: dir.path, DEVNODE_BLOCK_MS: '100' });
  const upstream = { GATEWAY_UPSTREAMS: node.address, GATEWAY_TX: 'true', GATEWAY_CACHE_TTL_MS: '50' };
  const gateway = await startGateway({ ...env, ...upstream });
  const client = createGatewayClient({ url: gateway.url });
  await waitFor('the routes', async () => (await client.get('/ixo/claims/params')).ok);
  return {
    gatewayUrl: gateway.url,
    nodeAddress: node.address,
    payers,
    async close() {
      await gateway.close();
      await node.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

type Pass = () => Promise<{ status: number; body: string }>;
/** What the proxy answers; undefined closes the connection. */
export type Handle = (
  request: { method: string; url: string },
  pass: Pass,
) => Promise<{ status: number; body: string } | undefined>;

/** A proxy between an outbox and the gateway. */
export async function startProxy(gatewayUrl: string, handle: Handle) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = 'GET', url = '' } = request;
    const pass = async () => {
      const height = request.headers['x-cosmos-block-height'];
      const answer = await fetch(gatewayUrl + url, {
        method,
        headers: { 'content-type': 'application/json', ...(height && { 'x-cosmos-block-height': String(height) }) },
        ...(method === 'POST' && { body: Buffer.concat(chunks) }),
      });
      return { status: answer.status, body: await answer.text() };
    };
    const answer = await handle({ method, url }, pass);
    if (!answer) return void request.socket.destroy();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() };
}
