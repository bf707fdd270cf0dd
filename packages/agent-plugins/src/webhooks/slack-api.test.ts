import { startEndlessServer } from '@palaver/test-kit';
import { expect, it } from 'vitest';
import { createSlackClient } from './slack-api.ts';

it('an endless answer of Slack is not read to its end', async () => {
  await using server = await startEndlessServer();
  const client = createSlackClient({ apiUrl: server.url, token: 'xoxb-test' });
  await expect(client.post({ channel: 'c', thread: undefined, text: 'Hello' })).rejects.toThrow();
  expect(server.sentBytes()).toBeLessThan(16_000_000);
});
