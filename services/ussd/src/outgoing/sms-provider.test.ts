import { startEndlessServer } from '@palaver/test-kit';
import { expect, it } from 'vitest';
import { createAfricasTalkingProvider, createTwilioProvider, createWebhookProvider } from './sms-provider.ts';

const message = { id: 'one', to: '+254700000001', text: 'Hello' };

it.each([
  ['webhook', 200, createWebhookProvider, { ok: true }],
  ['Twilio', 201, createTwilioProvider, { ok: true }],
  // Its status says only that the request was read.
  ["Africa's Talking", 201, createAfricasTalkingProvider, { ok: false, kind: 'unknown' }],
  ['webhook', 400, createWebhookProvider, { ok: false, kind: 'refused', fault: 'status 400' }],
])('an endless answer of %s with status %i is not read to its end', async (_name, status, create, result) => {
  await using server = await startEndlessServer(status);
  const provider = create({ url: server.url, user: 'user', token: 'token', from: undefined });
  expect(await provider.send(message)).toMatchObject(result);
  expect(server.sentBytes()).toBeLessThan(16_000_000);
});
