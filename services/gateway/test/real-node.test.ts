// Against a real Cosmos SDK node, when one is named: docs/gateway.md says how to build and start it.
import { expect, test } from 'vitest';
import { checkGateway } from '../src/commands/check-gateway.ts';
import { listRoutes } from '../src/commands/list-routes.ts';
import { startTestGateway } from './start-test-gateway.ts';

// biome-ignore lint/style/noProcessEnv: which node to use is the choice of whoever runs the test
const { REAL_NODE_GRPC: grpc, REAL_NODE_REST: rest } = process.env;
/** The node's own REST port does not serve its reflection; the list of subspaces comes in the order of a Go map. */
const named = /^\/cosmos\/base\/reflection\/|^\/cosmos\/params\/v1beta1\/subspaces$/;

test('every route of a real node answers as the node itself does', { timeout: 300_000 }, async ({ skip }) => {
  if (!grpc || !rest) return skip('REAL_NODE_GRPC and REAL_NODE_REST name no node');
  const env = { GATEWAY_UPSTREAMS: grpc, GATEWAY_CACHE_TTL_MS: '0' };
  await using gateway = await startTestGateway(env);
  const routes = await listRoutes({ ...env, LOG_LEVEL: 'silent' });
  expect(routes.length).toBeGreaterThan(100);
  const rows = await checkGateway({
    own: gateway.url,
    other: rest,
    templates: routes.map(({ template }) => template).filter((template) => !named.test(template)),
    values: { height: '5', denom: 'stake', proposal_id: '1' },
  });
  expect(rows.filter(({ verdict }) => verdict !== 'same')).toEqual([]);
});
