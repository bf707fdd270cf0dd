import { expect, test } from 'vitest';
import { startFixtureNode } from './fixture-node.ts';
import { startTestGateway } from './start-test-gateway.ts';

test('a query is answered by the node that reflection described', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  const response = await gateway.get('/fixture/item/did:x:1?note=%3Cb%3E&owner.weight=5');
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('{"id":"did:x:1","owner":{"name":"","weight":"5"},"note":"\\u003cb\\u003e"}');
  expect(response.headers.get('content-type')).toBe('application/json');
});
