import { expect, test } from 'vitest';
import { findWebhookFault, sendWebhook } from './send-webhook.ts';

test.each([
  ['http://alarms.example/', 'only https is allowed'],
  ['https://127.0.0.1/', 'private addresses are not allowed'],
  ['https://169.254.169.254/latest', 'private addresses are not allowed'],
  ['https://[::1]/', 'private addresses are not allowed'],
  ['https://10.0.0.8:8443/', 'private addresses are not allowed'],
])('%s is never called', async (url, fault) => {
  expect(findWebhookFault({ url, allowedHosts: [] })).toBe(fault);
  expect(await sendWebhook({ url, allowedHosts: [] }, {}, AbortSignal.timeout(5_000))).toBe(fault);
});

test('a host that was allowed may be private and plain', () => {
  expect(findWebhookFault({ url: 'http://127.0.0.1:9093/', allowedHosts: ['127.0.0.1:9093'] })).toBeUndefined();
  expect(findWebhookFault({ url: 'https://alarms.example/', allowedHosts: [] })).toBeUndefined();
});

test('a name with a private address is refused in the lookup of the connection', async () => {
  const closing = AbortSignal.timeout(500);
  expect(await sendWebhook({ url: 'https://localhost/', allowedHosts: [] }, {}, closing)).toBeTypeOf('string');
});
