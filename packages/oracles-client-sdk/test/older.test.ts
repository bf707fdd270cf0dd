import { randomUUID } from 'node:crypto';
import { createScriptedModel, defineOraclePlugin } from '@palaver/agent';
import { launchBrowser } from '@palaver/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { buildPage } from './build-page.ts';
import { openPage } from './open-page.ts';
import { serveFiles } from './serve-files.ts';
import { startAgent } from './start-agent.ts';

const weather = defineOraclePlugin({
  name: 'weather',
  version: '1.0.0',
  manifest: {
    title: 'Weather',
    summary: 'Knows the weather.',
    whenToUse: ['always'],
    visibility: 'always',
    stability: 'stable',
  },
  getTools: () => ({
    look_up: {
      description: 'Looks the weather up.',
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }, rt) => {
        const args = { city, temperature: 24 };
        rt.emit.renderComponent({ componentName: 'WeatherWidget', args, eventId: randomUUID(), status: 'done' });
        return 'shown';
      },
    },
    pay: {
      description: 'Pays.',
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: true,
      execute: ({ amount }) => `paid ${amount}`,
    },
  }),
});

it('runs an application of the older library: everything in its place, no message mounted twice', async () => {
  const model = createScriptedModel([
    { text: 'I look.', toolCalls: [{ name: 'look_up', args: { city: 'Nairobi' } }, { name: 'get_title' }] },
    { text: 'And a table.', toolCalls: [{ name: 'create_data_table', args: { title: 'Rain', rows: [1, 2] } }] },
    { toolCalls: [{ name: 'pay', args: { amount: 5 } }] },
    { text: 'That is all.' },
  ]);
  await using agent = await startAgent({}, [weather], { model });
  const site = await serveFiles(await buildPage(18));
  onTestFinished(() => void site.close());
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const page = await openPage(browser, `${site.url}/older.html`, {
    url: agent.url,
    did: agent.did,
  });
  const sent: { metadata?: unknown; attachments?: unknown }[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && /\/messages\/[0-9a-f-]+$/.test(request.url())) sent.push(request.postDataJSON());
  });

  const isConnected = page
    .waitForEvent('websocket')
    .then((socket) =>
      socket.waitForEvent('framereceived', { predicate: ({ payload }) => String(payload).includes('connected') }),
    );
  await page.getByRole('button', { name: 'New Chat' }).click();
  await isConnected;
  await page.getByLabel('Message').fill('How is it?');
  await page.getByRole('button', { name: 'Send' }).click();
  // A page without support for approvals can still answer.
  await page.getByRole('group', { name: 'May pay run?' }).getByRole('button', { name: 'Approve' }).click();
  await page.locator('.chat-container[data-ended="done"]').waitFor();

  const answer = page.locator('.messages .ai');
  const drawn = [
    'I look.',
    'look_up is done shown',
    'Weather in Nairobi24°C',
    'get_title is done An application of the older library',
    'And a table.',
    'pay: approvedamount5',
    'pay is done paid 5',
    'That is all.',
  ].join('');
  expect(await answer.textContent()).toBe(drawn);
  expect(await answer.getAttribute('data-kind')).toBe(
    'text look_up WeatherWidget get_title text create_data_table Approval pay text',
  );
  expect(await answer.locator('table[data-rows]').getAttribute('data-rows')).toBe('2');
  expect(sent).toEqual([expect.objectContaining({ metadata: { spaceId: 'space-1' }, attachments: [] })]);

  const ids = () => page.evaluate(() => (globalThis as unknown as { mounted: string[] }).mounted);
  const [before] = [await ids()];
  expect(before).toHaveLength(2);
  await page.getByRole('button', { name: 'Refetch' }).click();
  await page.locator('aside[title="How is it?"]').waitFor();
  expect(await ids()).toEqual(before);
  expect(await answer.textContent()).toBe(drawn);

  // The key stays in the browser, so the same user is back after a reload; nobody can read it.
  await page.reload();
  await answer.waitFor();
  expect(await answer.textContent()).toBe(drawn);
  const isReadable = await page.evaluate(
    'readKeys().then((keys) => keys.map(({ privateKey }) => privateKey.extractable))',
  );
  expect(isReadable).toEqual([false]);
});
