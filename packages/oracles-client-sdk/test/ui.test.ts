import { readFile } from 'node:fs/promises';
import { createScriptedModel, defineOraclePlugin, tool } from '@palaver/agent';
import { freePort, launchBrowser } from '@palaver/test-kit';
import { parseToken } from '@palaver/ucan';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { buildPage } from './build-page.ts';
import { findBarriers } from './find-barriers.ts';
import { openPage, words } from './open-page.ts';
import { serveFiles } from './serve-files.ts';
import { startAgent, type TestAgent } from './start-agent.ts';

let agent: TestAgent;
let site: Awaited<ReturnType<typeof serveFiles>>;
let browser: Awaited<ReturnType<typeof launchBrowser>>;

beforeAll(async () => {
  agent = await startAgent({ OFFLINE_WORDS_PER_SECOND: '60' });
  site = await serveFiles(await buildPage(19));
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
  await agent?.[Symbol.asyncDispose]();
});

const open = (params: Record<string, string> = {}) =>
  openPage(browser, `${site.url}/ui.html`, { url: agent.url, did: agent.did, ...params });

it('is used by keyboard alone: a conversation, an answer, a stop', async () => {
  const page = await open();
  await page.getByRole('button', { name: 'New conversation' }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Message', { exact: true }).focus();
  await page.keyboard.type('/long 3');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText(words(3)).waitFor();
  await page.getByRole('navigation').getByText('/long 3').waitFor();
  await page.keyboard.type('/long 50000');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await page.getByRole('log').getByText('word9').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('[data-status="aborted"]').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
});

it('says that it connects, then why it cannot, and is there when the agent is', async () => {
  const port = await freePort();
  const page = await open({ url: `http://127.0.0.1:${port}` });
  await page.getByRole('alert').getByText('cannot be reached').waitFor();
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  expect(await page.getByText('Start a conversation.').count()).toBe(0);
  expect(await findBarriers(page)).toEqual([]);
  let isWaiting = true;
  await page.route(`http://127.0.0.1:${port}/**`, async (route) => {
    while (isWaiting) await new Promise((resolve) => setTimeout(resolve, 20));
    await route.fulfill({ json: { sessions: [], total: 0 }, headers: { 'access-control-allow-origin': '*' } });
  });
  await page.reload();
  await page.getByText('Connecting to the agent…').waitFor();
  isWaiting = false;
  await page.getByText('Start a conversation.').waitFor();
});

const hostile = [
  '<script>globalThis.hacked = 1</script>',
  '<img src=x onerror="globalThis.hacked = 1">',
  '[script](javascript:globalThis.hacked=1)',
  '[coded](java&#115;cript:globalThis.hacked=1)',
  '[broken](java\tscript:globalThis.hacked=1)',
  '[data](data:text/html,<script>opener.hacked=1</script>)',
  '![picture](javascript:globalThis.hacked=1)',
  '<javascript:globalThis.hacked=1>',
  '[quoted](https://x.example/"onmouseover="globalThis.hacked=1)',
  '```"><script>globalThis.hacked = 1</script>\ncode\n```',
  // Once took quadratic time: the page would draw nothing for minutes.
  '*_'.repeat(20_000),
  '# '.repeat(20_000),
  ' '.repeat(20_000),
  '['.repeat(20_000),
  'the end',
].join('\n\n');

it('draws a hostile answer as text: no script runs, no address but those of pages, and the page stays usable', async () => {
  await using spiteful = await startAgent({}, [], { model: createScriptedModel([{ text: hostile }]) });
  const page = await open({ url: spiteful.url, did: spiteful.did });
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByLabel('Message', { exact: true }).fill('hello');
  await page.getByRole('button', { name: 'Send' }).click();
  const answer = page.locator('.palaver-message:not(.palaver-human)[data-status="complete"]');
  await answer.getByText('the end').waitFor();
  expect(await answer.locator('script, img, iframe, object, embed, svg, form, style, link, base').count()).toBe(0);
  const attributes: string[] = await page.evaluate(
    `[...document.querySelectorAll('.palaver-message *')].flatMap((element) => element.getAttributeNames())`,
  );
  expect(attributes.filter((name) => name.startsWith('on'))).toEqual([]);
  for (const link of await answer.locator('a').all()) expect(await link.getAttribute('href')).toMatch(/^https:/);
  for (const link of await answer.locator('a').all()) await link.hover();
  await page.getByLabel('Message', { exact: true }).fill('still here');
  expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
});

it('uploads a file with a message and answers again', async () => {
  const page = await open();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page
    .getByLabel('Attach files')
    .setInputFiles({ name: 'goats.txt', mimeType: 'text/plain', buffer: Buffer.from('Three goats') });
  await page.getByRole('button', { name: 'Remove: goats.txt' }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByLabel('Message', { exact: true }).fill('read it');
  await page.keyboard.press('Enter');
  const log = page.getByRole('log');
  await log.getByText('goats.txt').waitFor();
  await log.getByText('No language model').waitFor();
  const first = await page.locator('.palaver-message').nth(1).elementHandle();
  await page.getByRole('button', { name: 'Answer again' }).click();
  await first?.waitForElementState('hidden');
  await log.getByText('No language model').waitFor();
  expect(await page.locator('.palaver-message').count()).toBe(2);
  const versions = page.getByRole('group', { name: 'Answers' });
  await versions.getByText('2/2').waitFor();
  expect(await versions.getByRole('button', { name: 'Later answer' }).isDisabled()).toBe(true);
  await versions.getByRole('button', { name: 'Earlier answer' }).click();
  await versions.getByText('1/2').waitFor();
  expect(await findBarriers(page)).toEqual([]);
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    log.getByRole('button', { name: 'Download: goats.txt' }).click(),
  ]);
  expect([file.suggestedFilename(), await readFile(await file.path(), 'utf8')]).toEqual(['goats.txt', 'Three goats']);
});

it('leaves a conversation open that was opened while another one is deleted', async () => {
  const page = await open();
  for (const text of ['/long 2', '/long 3']) {
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByLabel('Message', { exact: true }).fill(text);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation').getByText(text).waitFor();
  }
  const deleting = Promise.withResolvers<void>();
  await page.route('**/sessions/*', async (route) => {
    if (route.request().method() === 'DELETE') await deleting.promise;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Delete: /long 3' }).click();
  await page.getByRole('group', { name: 'Delete “/long 3” for good?' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('navigation').getByText('/long 2').click();
  await page.getByRole('log').getByText(words(2)).waitFor();
  deleting.resolve();
  await page.getByRole('navigation').getByText('/long 3').waitFor({ state: 'detached' });
  await page.getByLabel('Message', { exact: true }).fill('/long 4');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText(words(4)).waitFor();
});

/** What the browser does when files are dropped on an element, or pasted into it. */
const give = (selector: string, event: 'drop' | 'paste', name: string) => `(() => {
  const data = new DataTransfer();
  data.items.add(new File(['Three goats'], ${JSON.stringify(name)}, { type: 'text/plain' }));
  const options = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
  const event = ${event === 'drop' ? "new DragEvent('drop', options)" : "new ClipboardEvent('paste', options)"};
  document.querySelector(${JSON.stringify(selector)}).dispatchEvent(event);
  return event.defaultPrevented;
})()`;

it('takes files that are dropped or pasted, and leaves pasted words alone', async () => {
  const page = await open();
  await page.getByRole('button', { name: 'New conversation' }).click();
  const box = page.getByLabel('Message', { exact: true });
  await box.waitFor();
  expect(await page.evaluate<boolean>(give('.palaver-composer form', 'drop', 'dropped.txt'))).toBe(true);
  expect(await page.evaluate<boolean>(give('.palaver-composer textarea', 'paste', 'pasted.txt'))).toBe(true);
  await page.getByRole('button', { name: 'Remove: dropped.txt' }).waitFor();
  await page.getByRole('button', { name: 'Remove: pasted.txt' }).waitFor();
  await box.fill('read them');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByRole('button', { name: 'Download: pasted.txt' }).waitFor();
});

it('copies a message, and sends other words in place of a question', async () => {
  const page = await open();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByLabel('Message', { exact: true }).fill('/long 2');
  await page.keyboard.press('Enter');
  const log = page.getByRole('log');
  await log.getByText(words(2)).waitFor();
  await log.getByRole('button', { name: 'Copy' }).nth(1).click();
  await log.getByText('Copied').waitFor();
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(words(2));
  await log.getByRole('button', { name: 'Edit' }).click();
  await log.getByRole('textbox', { name: 'Edit' }).fill('/long 4');
  await log.getByRole('button', { name: 'Send again' }).click();
  await log.getByText(words(4)).waitFor();
  expect(await page.locator('.palaver-message').count()).toBe(2);
});

it('finds, renames and deletes conversations; nothing is deleted before it is confirmed', async () => {
  const page = await open();
  const list = page.getByRole('navigation');
  for (const text of ['/long 2', '/long 3']) {
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByLabel('Message', { exact: true }).fill(text);
    await page.keyboard.press('Enter');
    await list.getByText(text).waitFor();
  }
  await list.getByRole('button', { name: 'Rename: /long 2' }).click();
  await list.getByRole('textbox', { name: 'Rename: /long 2' }).fill('Maize prices');
  await page.keyboard.press('Enter');
  await list.getByText('Maize prices').waitFor();
  await list.getByRole('searchbox').fill('MAIZE');
  await list.getByText('/long 3').waitFor({ state: 'detached' });
  await page.reload();
  await list.getByText('Maize prices').waitFor();
  await list.getByRole('button', { name: 'Delete: Maize prices' }).click();
  expect(await findBarriers(page)).toEqual([]);
  await list.getByRole('button', { name: 'Cancel' }).click();
  await list.getByRole('button', { name: 'Delete: Maize prices' }).click();
  await list.getByRole('group').getByRole('button', { name: 'Delete' }).click();
  await list.getByText('Maize prices').waitFor({ state: 'detached' });
  expect(await list.getByText('/long 3').count()).toBe(1);
});

it('leads back to the latest message, and shows your own message wherever you were reading', async () => {
  const page = await open();
  await page.setViewportSize({ width: 700, height: 500 });
  await page.getByRole('button', { name: 'New conversation' }).click();
  const box = page.getByLabel('Message', { exact: true });
  await box.fill('/long 400');
  await page.keyboard.press('Enter');
  const log = page.getByRole('log');
  await log.getByText('word400').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  const atEnd = 'document.querySelector(".palaver-thread").scrollHeight';
  const distance = () =>
    page.evaluate<number>(`(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)(
      document.querySelector('.palaver-thread'))`);
  expect(await page.evaluate<number>(atEnd)).toBeGreaterThan(600);
  await page.evaluate("document.querySelector('.palaver-thread').scrollTop = 0");
  await log.getByRole('button', { name: 'Latest message' }).click();
  await expect.poll(distance).toBeLessThan(5);
  await page.evaluate("document.querySelector('.palaver-thread').scrollTop = 0");
  await log.getByRole('button', { name: 'Latest message' }).waitFor();
  await box.fill('/long 1');
  await page.keyboard.press('Enter');
  await expect.poll(distance).toBeLessThan(80);
  await log.getByText('/long 1', { exact: true }).waitFor();
});

describe('what the agent lacks, with the key of this browser', () => {
  const withdrawal = (did: string) => ({ can: 'bank/withdraw', with: did, nb: { limit: '100' } });
  const bank = defineOraclePlugin({
    name: 'bank',
    version: '1.0.0',
    manifest: { title: 'Bank', summary: 'Pays.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getTools: () => ({
      withdraw: tool({
        description: 'Withdraws money.',
        inputSchema: z.object({}),
        needsDelegation: (_args, { user }) => withdrawal(user.did),
        execute: () => 'paid',
      }),
      order: tool({
        description: 'Signs an order.',
        inputSchema: z.object({}),
        needsInvocation: ({ user }) => ({ audience: user.did, capability: withdrawal(user.did) }),
        execute: async (_args, { invocation }) => (await parseToken(invocation ?? '')).ok?.capabilities,
      }),
      open_account: tool({
        description: 'Opens an account.',
        inputSchema: z.object({}),
        execute(_args, { ucan, user }) {
          ucan.requireCapability(withdrawal(user.did));
          return 'opened';
        },
      }),
    }),
  });

  async function openBank(bankAgent: TestAgent) {
    const page = await open({ url: bankAgent.url, did: bankAgent.did });
    const granted: Promise<unknown>[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'POST' || !request.url().endsWith('/delegation')) return;
      granted.push(parseToken(request.postDataJSON().raw).then(({ ok }) => ok?.capabilities));
    });
    await page.getByRole('button', { name: 'New conversation' }).click();
    const ask = async (text: string) => {
      await page.getByLabel('Message', { exact: true }).fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    };
    const user = await page.evaluate<string>('globalThis.userDid');
    return { page, ask, granted, user };
  }

  it('is signed as it was approved, and nothing else; the call is made', async () => {
    await using bankAgent = await startAgent({}, [bank]);
    const { page, ask, granted, user } = await openBank(bankAgent);
    await ask('/tool withdraw {}');
    await page.getByRole('group', { name: 'May withdraw run?' }).getByRole('button', { name: 'Approve' }).click();
    await page.locator('[data-oracle-call="withdraw"][data-status="done"]').waitFor();
    expect(await Promise.all(granted)).toEqual([[withdrawal(user)]]);
    await ask('/tool order {}');
    await page.getByRole('group', { name: 'May order run?' }).getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('log').getByText('bank/withdraw').last().waitFor();
    await page.locator('[data-oracle-call="order"][data-status="done"]').waitFor();
  });

  it('is shown as a table of what is asked; a refusal is no failure', async () => {
    await using bankAgent = await startAgent({}, [bank]);
    const { page, ask } = await openBank(bankAgent);
    await ask('/tool order {"sacks": 3}');
    const card = page.getByRole('group', { name: 'May order run?' });
    await card.getByRole('row', { name: 'sacks 3' }).waitFor();
    await page.getByRole('status').getByText('Waiting for your decision').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await card.getByRole('button', { name: 'Refuse' }).click();
    await page.getByRole('group', { name: 'order: refused' }).waitFor();
    await page.locator('[data-oracle-call="order"][data-status="refused"]').waitFor();
  });

  it('is asked for where an answer fails for it, signed once the user authorises it, and enough for another answer', async () => {
    await using bankAgent = await startAgent({}, [bank]);
    const { page, ask, granted, user } = await openBank(bankAgent);
    await ask('/tool open_account {}');
    await page.locator('[data-oracle-call="open_account"][data-status="error"]').waitFor();
    await page.getByRole('button', { name: 'Authorise' }).waitFor();
    // After a reload too: the agent does not ask again for hours.
    await page.reload();
    await page.getByRole('button', { name: 'Authorise' }).click();
    await page.getByText('Authorised').waitFor();
    expect((await Promise.all(granted)).at(-1)).toEqual([withdrawal(user)]);
    await page.getByRole('button', { name: 'Answer again' }).click();
    await page.locator('[data-oracle-call="open_account"][data-status="done"]').waitFor();
  });
});

it('says that the agent cannot be reached, and continues once it can', async () => {
  const port = await freePort();
  const did = `did:web:127.0.0.1%3A${port}`;
  const page = await open({ did, url: '' });
  const navigation = page.getByRole('navigation');
  await navigation.getByRole('alert').getByText('cannot be reached').waitFor();
  await navigation.getByRole('button', { name: 'Try again' }).waitFor();
  await using _late = await startAgent({ PORT: String(port), ORACLE_DID: did });
  await navigation.getByRole('alert').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByLabel('Message', { exact: true }).fill('/long 3');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText(words(3)).waitFor();
});

it('asks to sign in while there is no wallet, and asks the agent for nothing', async () => {
  const page = await open({ 'signed-out': '1' });
  await page.getByText('Sign in to chat.').waitFor();
});

it.each([
  { dir: 'ltr', colorScheme: 'light', width: 900 },
  { dir: 'rtl', colorScheme: 'dark', width: 360 },
] as const)('has no barrier that axe finds: %o', async ({ dir, colorScheme, width }) => {
  const page = await open({ dir });
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 700 });
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByLabel('Message', { exact: true }).fill('/tool nothing {}');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.palaver-message:not(.palaver-human)[data-status="complete"]').waitFor();
  expect(await findBarriers(page)).toEqual([]);
  const { x: human = 0 } = (await page.locator('.palaver-human').boundingBox()) ?? {};
  const { x: answer = 0 } = (await page.locator('.palaver-message:not(.palaver-human)').boundingBox()) ?? {};
  if (dir === 'ltr') expect(human).toBeGreaterThan(answer);
  else expect(human).toBeLessThan(width / 2);
  // biome-ignore lint/style/noProcessEnv: chosen by the person who runs the tests, not configuration.
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/ui-${dir}.png` });
});
