// Against a real Cosmos SDK node, when one is named: docs/gateway.md says how to build and start it.
import { fileURLToPath } from 'node:url';
import { DirectSecp256k1HdWallet } from '@cosmjs/proto-signing';
import { coins, SigningStargateClient } from '@cosmjs/stargate';
import { Comet38Client, WebsocketClient } from '@cosmjs/tendermint-rpc';
import { createTempDir, freePort, startProcess, waitFor } from '@palaver/test-kit';
import { expect, onTestFinished, test } from 'vitest';
import { checkGateway } from '../src/commands/check-gateway.ts';
import { listRoutes } from '../src/commands/list-routes.ts';
import { startTestGateway } from './start-test-gateway.ts';

// biome-ignore lint/style/noProcessEnv: which node to use is the choice of whoever runs the test
const { REAL_NODE_GRPC: grpc, REAL_NODE_REST: rest, REAL_NODE_RPC: rpc, REAL_NODE_MNEMONIC: mnemonic } = process.env;
/** Nodes' own REST ports do not serve their reflection, nor ibc-go 10 its clients' v2 routes; the list of subspaces comes in the order of a Go map. */
const named =
  /^\/cosmos\/base\/reflection\/|^\/ibc\/core\/client\/v2\/(counterparty_info|config)\/|^\/cosmos\/params\/v1beta1\/subspaces$/;
const timeout = 300_000;
const missing = 'REAL_NODE_GRPC and REAL_NODE_REST name no node';

/** Whatever the node has under the names of path variables: with them more routes answer than refuse. */
async function readValues(url: string): Promise<Record<string, string>> {
  const read = async (path: string) => (await fetch(url + path)).text();
  const validators = await read('/cosmos/staking/v1beta1/validators');
  const validator = /"operator_address":"(\w+)"/.exec(validators)?.[1] ?? '';
  const delegations = await read(`/cosmos/staking/v1beta1/validators/${validator}/delegations`);
  const delegator = /"delegator_address":"(\w+)"/.exec(delegations)?.[1] ?? '';
  const transfers = await read(
    `/cosmos/tx/v1beta1/txs?query=${encodeURIComponent("message.action='/cosmos.bank.v1beta1.MsgSend'")}`,
  );
  const hash = /"txhash":"(\w+)"/.exec(transfers)?.[1] ?? '';
  const addresses = [
    'address',
    'delegator_addr',
    'delegator_address',
    'depositor',
    'voter',
    'grantee',
    'granter',
    'owner',
  ];
  return {
    ...Object.fromEntries(addresses.map((name) => [name, delegator])),
    ...Object.fromEntries(['validator_addr', 'validator_address'].map((name) => [name, validator])),
    hash,
    height: '5',
    denom: 'stake',
    proposal_id: '1',
    module_name: 'gov',
    name: 'gov',
    params_type: 'voting',
  };
}

test('every route of a real node answers as the node itself does', { timeout }, async ({ skip }) => {
  if (!grpc || !rest) return skip(missing);
  const env = { GATEWAY_UPSTREAMS: grpc, GATEWAY_CACHE_TTL_MS: '0' };
  await using gateway = await startTestGateway(env);
  const routes = await listRoutes({ ...env, LOG_LEVEL: 'silent' });
  expect(routes.length).toBeGreaterThan(100);
  const templates = routes.map(({ template }) => template).filter((template) => !named.test(template));
  const values = await readValues(rest);
  const rows = await checkGateway({ own: gateway.url, other: rest, templates, values });
  const answered = rows.filter(({ own }) => own === 200).length;
  process.stdout.write(`${routes.length} routes: ${answered} answers, ${rows.length - answered} errors compared\n`);
  expect(rows.filter(({ verdict }) => verdict !== 'same')).toEqual([]);
});

test('a process in front of a real node stays below 200 MB when it has learned its types', { timeout }, async ({
  skip,
}) => {
  if (!grpc) return skip(missing);
  const port = await freePort();
  await using folder = await createTempDir();
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const started = performance.now();
  const since = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;
  const env = { PORT: String(port), GATEWAY_UPSTREAMS: grpc };
  const gateway = startProcess(process.execPath, [main], { env, cwd: folder.path });
  onTestFinished(() => gateway.kill());
  await gateway.printed('routes loaded');
  const known = since();
  await gateway.printed('types loaded');
  const learned = since();
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const megabytes = Number(/^process_resident_memory_bytes\S* (\d+)/m.exec(metrics)?.[1]) / 1e6;
  process.stdout.write(`routes after ${known}, types after ${learned}, ${megabytes.toFixed(0)} MB\n`);
  expect(megabytes).toBeLessThan(200);
});

test('a cosmjs client sends a transfer and follows blocks of a real node', { timeout }, async ({ skip }) => {
  if (!grpc || !rpc || !mnemonic)
    return skip('REAL_NODE_RPC and REAL_NODE_MNEMONIC name no node and no account with coins');
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: grpc, GATEWAY_RPC: rpc });
  const { bech32_prefix: prefix } = (await (await gateway.get('/cosmos/auth/v1beta1/bech32')).json()) as {
    bech32_prefix: string;
  };
  const wallet = await DirectSecp256k1HdWallet.fromMnemonic(mnemonic, { prefix });
  const [account] = await wallet.getAccounts();
  const address = account?.address ?? '';
  const client = await SigningStargateClient.connectWithSigner(`${gateway.url}/rpc`, wallet);
  const fee = { amount: coins(0, 'stake'), gas: '200000' };
  const { code, transactionHash } = await client.sendTokens(address, address, coins(7, 'stake'), fee, 'palaver');
  expect(code).toBe(0);
  expect((await gateway.get(`/cosmos/tx/v1beta1/txs/${transactionHash}`)).status).toBe(200);
  client.disconnect();

  const comet = Comet38Client.create(new WebsocketClient(`${gateway.url.replace('http', 'ws')}/rpc`));
  const heights: number[] = [];
  const subscription = comet.subscribeNewBlockHeader().subscribe({ next: ({ height }) => heights.push(height) });
  await waitFor('three blocks', () => heights.length >= 3);
  expect(heights).toEqual(heights.map((_height, index) => (heights[0] ?? 0) + index));
  subscription.unsubscribe();
  comet.disconnect();
});
