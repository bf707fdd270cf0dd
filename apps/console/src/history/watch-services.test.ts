import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { sendWebhook } from './watch-services.ts';

test.each([
  ['http://alarms.example/', 'only https is allowed'],
  ['https://127.0.0.1/', 'private addresses are not allowed'],
  ['https://169.254.169.254/latest', 'private addresses are not allowed'],
  ['https://[::1]/', 'private addresses are not allowed'],
  ['https://10.0.0.8:8443/', 'private addresses are not allowed'],
])('%s is never called', async (url, fault) => {
  expect(await sendWebhook({ url, allowedHosts: [] }, {}, AbortSignal.timeout(5_000))).toBe(fault);
});

test('a host that was allowed may be private and plain', async () => {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(await text(request));
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const webhook = { url: `http://127.0.0.1:${port}/`, allowedHosts: [`127.0.0.1:${port}`] };
  expect(await sendWebhook(webhook, { alarm: 'é' }, AbortSignal.timeout(30_000))).toBeUndefined();
  expect(bodies).toEqual(['{"alarm":"é"}']);
});

test('a name with a private address is refused in the lookup of the connection', async () => {
  const closing = AbortSignal.timeout(500);
  expect(await sendWebhook({ url: 'https://localhost/', allowedHosts: [] }, {}, closing)).toBeTypeOf('string');
});
