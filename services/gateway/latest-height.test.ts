import { afterEach, expect, test } from 'vitest';
import { createLatestHeight } from './latest-height.ts';
import { frame, startScriptedNode } from './test/scripted-node.ts';
import { createUpstream, type Upstream } from './upstream.ts';

const syncing = '/cosmos.base.tendermint.v1beta1.Service/GetSyncing';
const opened: Upstream[] = [];
afterEach(() => {
  for (const upstream of opened.splice(0)) upstream.close();
});

/** A chain that grows by one with every question. */
async function startChain() {
  let height = 100;
  const node = await startScriptedNode((stream) => {
    height += 1;
    stream.respond({ ':status': 200, 'x-cosmos-block-height': String(height) }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(frame(new Uint8Array()));
  });
  const upstream = createUpstream({ addresses: [node.address] });
  opened.push(upstream);
  return { node, upstream };
}

test('a node is asked for the height when no answer has told it lately', async () => {
  const { node, upstream } = await startChain();
  await using _chain = node;
  let time = 0;
  const latest = createLatestHeight({ upstream, canAsk: (path) => path === syncing, now: () => time });
  expect([await latest.read(), await latest.read()]).toEqual([101, 101]);
  time = 900;
  latest.note({ 'x-cosmos-block-height': '150' });
  time = 1_800;
  expect(await latest.read()).toBe(150);
  time = 1_900;
  expect(await latest.read()).toBe(102);
  expect(node.calls).toEqual([syncing, syncing]);
});

test('a node without the question is not asked, and what is no height is none', async () => {
  const { node, upstream } = await startChain();
  await using _chain = node;
  const latest = createLatestHeight({ upstream, canAsk: () => false });
  for (const told of ['x', '0', '-1', '1.5', '99999999999999999999']) latest.note({ 'x-cosmos-block-height': told });
  expect(await latest.read()).toBeNull();
  expect(node.calls).toEqual([]);
});
