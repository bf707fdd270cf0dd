import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { startConversation } from './chat-scenarios.ts';
import {
  findBarriers,
  findSmallTargets,
  keepPicture,
  looks,
  openPage,
  overflow,
  sizes,
  type TestConsole,
} from './start-console.ts';

/** Every page but Programs, whose own scenarios check it, and what shows that it has its content. */
const pages = [
  ['/phone', 'Type a service code'],
  ['/chat', 'Create a key and start'],
  ['/explorer?page=entities', 'The whole answer'],
  ['/explorer?page=claims', '18 of 1,000 claims'],
  ['/explorer?page=tokens', 'Contract'],
  ['/explorer?page=routes', 'Send the request'],
  ['/explorer?page=transactions', 'included'],
  ['/explorer?page=blocks', 'Next'],
  ['/operations', 'Slowest routes'],
  ['/operations?page=cases', 'Nothing waits here.'],
  ['/guide?name=console', 'History and alarms'],
  ['/nowhere', 'Go to the phone'],
] as const;

interface FirstLoad {
  path: string;
  settled: string;
  before?(page: Page): Promise<void>;
  /** A file that is not sent before the page is settled, and what it then shows. */
  later?: { file: RegExp; shows: string };
}

const mostBytes = 150_000;

const firstLoads: FirstLoad[] = [
  { path: '/phone', settled: 'Type a service code' },
  { path: '/programs', settled: 'Name of a new program' },
  { path: '/chat', settled: 'Create a key and start' },
  { path: '/chat', settled: 'New conversation', before: startConversation },
  { path: '/explorer', settled: 'The whole answer' },
  { path: '/operations', settled: 'Slowest routes' },
  // With what reads YAML: the states can be read and opened before what draws the map is there.
  {
    path: '/programs?program=palaver&view=map',
    settled: 'askNewPin',
    later: { file: /\/program-map-[^/]+\.js$/, shows: '.program-map[data-ready=true] [data-state=askNewPin]' },
  },
];

export function shellScenarios(palaver: () => TestConsole): void {
  test.each(firstLoads)('the first load of $path, which shows “$settled”, is at most 150 kB', async (load) => {
    const { path, settled, before, later } = load;
    const { browser, url } = palaver();
    // Nothing is in the cache of a new context, and the tour is loaded too.
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    if (before) {
      await page.goto(url + path);
      await before(page);
      await (await context.newCDPSession(page)).send('Network.clearBrowserCache');
    }
    const loads: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      if (request.url().includes('/assets/') || request.resourceType() === 'document')
        loads.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    const released = Promise.withResolvers<void>();
    if (later) await page.route(later.file, (route) => released.promise.then(() => route.continue()));
    await page.goto(url + path);
    await page.getByText(settled).filter({ visible: true }).first().waitFor();
    await page.getByRole('button', { name: 'Skip the tour' }).waitFor();
    const bytes = (await Promise.all(loads)).reduce((sum, size) => sum + size, 0);
    released.resolve();
    if (later) await page.locator(later.shows).waitFor();
    await context.close();
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThanOrEqual(mostBytes);
  });

  test.each(pages)('axe finds nothing on %s in both themes and three sizes', async (path, settled) => {
    await using opened = await openPage(palaver(), path);
    const { page } = opened;
    await page.getByText(settled).first().waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const [size, viewport] of Object.entries(sizes)) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(viewport);
        const look = `${colorScheme} ${size}`;
        expect([look, ...(await findBarriers(page))]).toEqual([look]);
        expect([look, await overflow(page)]).toEqual([look, 0]);
      }
    }
  });

  test('an address that does not exist is a page that says so and leads on; programs get the error', async () => {
    const { url } = palaver();
    const program = await fetch(`${url}/no/such/page`);
    expect([program.status, program.headers.get('content-type')]).toEqual([404, expect.stringContaining('json')]);
    await using opened = await openPage(palaver(), '/phone');
    const { page } = opened;
    const reply = await page.goto(`${url}/no/such/page`);
    expect(reply?.status()).toBe(404);
    await page.getByRole('heading', { name: 'This page does not exist' }).waitFor();
    expect(await page.title()).toBe('This page does not exist · Palaver');
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, 'not-found');
    await page.getByRole('link', { name: 'Go to the phone' }).click();
    await page.getByRole('heading', { name: 'Phone', level: 1 }).waitFor();
  });

  test.each(looks)('a first visit says what to press, and shows the views one by one ($theme, $size)', async (look) => {
    await using opened = await openPage(palaver(), '/', { ...look, isFirstVisit: true });
    const { page, complaints } = opened;
    const tour = page.getByRole('complementary', { name: 'First steps' });
    await tour.getByRole('img', { name: /arrow points to the green Call key/ }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    await keepPicture(page, `tour-${look.theme}-${look.size}`);
    for (const view of ['Programs', 'Chat', 'Explorer', 'Operations']) {
      await tour.getByRole('button', { name: 'Next' }).click();
      await tour.getByRole('heading', { name: view }).waitFor();
      await page.locator('.views [aria-current=page]', { hasText: view }).waitFor();
    }
    await tour.getByRole('button', { name: 'Done' }).click();
    await tour.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('heading', { name: 'Operations', level: 1 }).waitFor();
    expect(await tour.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('the tour can be skipped, and opened again', async () => {
    await using opened = await openPage(palaver(), '/explorer', { isFirstVisit: true });
    const { page } = opened;
    const tour = page.getByRole('complementary', { name: 'First steps' });
    await tour.getByRole('button', { name: 'Skip the tour' }).click();
    await tour.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'First steps' }).click();
    await tour.waitFor();
    await tour.getByRole('button', { name: 'Next' }).focus();
    await page.keyboard.press('Escape');
    await tour.waitFor({ state: 'detached' });
  });

  test.each([
    ['/phone', 'Type a service code'],
    ['/chat', 'Create a key and start'],
    ['/explorer?page=claims', '18 of 1,000 claims'],
    ['/explorer?page=entities', 'The whole answer'],
    ['/operations', 'Busiest routes'],
    ['/nowhere', 'Go to the phone'],
  ])('under a finger every control of %s has 44 pixels', async (path, settled) => {
    await using opened = await openPage(palaver(), path, { size: 'phone', isTouch: true });
    const { page } = opened;
    await page.getByText(settled).first().waitFor();
    expect(await findSmallTargets(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
  });
}
