import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findBarriers, keepPicture, looks, openPage, overflow, type TestConsole } from './start-console.ts';

/** Files a report over USSD, as a telecom gateway would. */
async function report({ url }: TestConsole, phoneNumber: string): Promise<void> {
  const inputs = ['2', '1', 'Otieno', '4071', '4071', '0', '3', '1', '12.5', '4071', '1'];
  let text = '';
  for (const input of ['', ...inputs]) {
    text = text === '' ? input : `${text}*${input}`;
    const reply = await fetch(`${url}/api/ussd-gateway/api/ussd`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sessionId: `report-${phoneNumber}`, serviceCode: '*1234#', phoneNumber, text }),
    });
    const screen = await reply.text();
    if (/reference/i.test(screen)) return;
  }
  throw new Error('no reference number was shown');
}

/** Half a minute of changing load, so that a picture has lines to show. */
async function makeTraffic({ url }: TestConsole): Promise<void> {
  for (let second = 0; second < 40; second += 1) {
    const count = Math.round(6 + 5 * Math.sin(second / 5));
    await Promise.all([
      ...Array.from({ length: count }, () => fetch(`${url}/api/gateway/ixo/entity`)),
      ...Array.from({ length: Math.ceil(count / 3) }, (_, index) =>
        fetch(`${url}/api/ussd-gateway/api/ussd`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            sessionId: `load-${second}-${index}`,
            serviceCode: '*1234#',
            phoneNumber: '+254700000090',
            text: '*',
          }),
        }),
      ),
      ...(second % 3 === 0 ? [fetch(`${url}/api/agent/models`)] : []),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 900));
  }
}

export function operationsScenarios(palaver: () => TestConsole): void {
  test('health, load, sessions, reports and errors are shown as the services report them', async () => {
    await report(palaver(), '+254700000077');
    await fetch(`${palaver().url}/api/gateway/ixo/nothing/here`, { headers: { 'x-request-id': 'looked-for-1' } });
    await using opened = await openPage(palaver(), '/operations');
    const { page, complaints } = opened;
    const health = page.getByRole('list', { name: 'Health' });
    await expect.poll(() => health.getByText('ok', { exact: true }).count()).toBe(5);
    await health.getByText('database connected').waitFor();
    await health.getByText(/\b\d{2,3} routes/).waitFor();

    const sessions = page.getByRole('region', { name: 'Active USSD sessions' });
    await sessions.getByText('report-+254700000077').waitFor();
    const errors = page.getByRole('region', { name: 'Recent errors' }).first();
    await errors.getByText('looked-for-1').waitFor();
    await errors.getByText('GET /ixo/nothing/here').waitFor();
    await page
      .getByRole('region', { name: 'Busiest routes' })
      .first()
      .getByText('POST /api/ussd', { exact: true })
      .waitFor();

    const reports = page.getByRole('region', { name: 'Reported activities' });
    await reports.getByText('12.5').waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ]);
    const csv = readFileSync(await saved.path(), 'utf8');
    expect(csv.split('\n')[0]?.trim()).toBe('reference,phoneNumber,type,amount,createdAt,unit,place,date,note');
    expect(csv).toContain('12.5');

    const rates = page.getByRole('figure', { name: 'Requests per second', exact: true });
    await expect
      .poll(async () => {
        for (let index = 0; index < 10; index += 1) await fetch(`${palaver().url}/api/gateway/ixo/token/params`);
        return /Query gateway (\d+(\.\d)?)/.exec((await rates.textContent()) ?? '')?.[1] ?? '0.0';
      })
      .not.toBe('0.0');
    await errors
      .getByText(/no route \/ixo\/nothing\/here/)
      .first()
      .waitFor();
    const history = page.getByRole('region', { name: 'History' });
    await history.getByRole('button', { name: '1 hour' }).click();
    await expect.poll(() => history.getByRole('figure').count()).toBe(3);
    const requests = history.getByRole('slider', { name: /^Requests per second/ });
    await requests.focus();
    await page.keyboard.press('End');
    expect(await requests.getAttribute('aria-valuetext')).toMatch(/^\d\d:\d\d, USSD gateway /);
    const box = await requests.boundingBox();
    if (!box) throw new Error('the chart is not drawn');
    await page.mouse.move(box.x + box.width * 0.2, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
    await page.mouse.up();
    await history.getByRole('button', { name: 'Zoom out' }).click();
    const slow = page.getByRole('region', { name: 'Slowest routes' }).first();
    await expect.poll(() => slow.getByRole('row').count()).toBeGreaterThan(1);
    await page.getByRole('heading', { name: 'Alarms' }).waitFor();
    if (process.env.PICTURES) await makeTraffic(palaver());
    await keepPicture(page, 'operations');
    expect(complaints).toEqual([]);
  });

  test('what waits for a decision, the log and the audit log have pages, which lead to their guides', async () => {
    await using opened = await openPage(palaver(), '/operations?page=cases');
    const { page, complaints } = opened;
    for (const name of [
      'Forms that could not be delivered',
      'SMS messages that could not be delivered',
      'Tasks that were given up',
    ])
      await page.getByRole('region', { name }).getByText('Nothing waits here.').waitFor();
    // Lists of features that are off are not asked for: a page that is in order shows no 404 in the browser's console.
    expect(complaints).toEqual([]);
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, 'operations-cases');
    await page.getByRole('link', { name: 'Traces' }).click();
    await page.getByText('There is no GET /traces').waitFor();
    await page.getByRole('link', { name: 'Log', exact: true }).click();
    await page.getByText('PIN_ENCRYPTION_KEY is not set').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, 'operations-log');
    await page.getByRole('link', { name: 'Audit log' }).click();
    const log = page.getByRole('region', { name: 'Audit log' });
    await log.getByText('operator.read').first().waitFor();
    await log.getByRole('button', { name: 'Agent service' }).click();
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, 'operations-audit');
    await log.getByRole('link', { name: 'Guide' }).click();
    await page.getByRole('heading', { name: 'Audit log' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, 'guide');
  });

  test('the open page reads at most 5 kB in 15 seconds, and a hidden one asks nothing', async () => {
    await using opened = await openPage(palaver(), '/phone');
    const { page } = opened;
    const debug = await page.context().newCDPSession(page);
    await debug.send('Network.enable');
    let bytes = 0;
    const asked: string[] = [];
    const pages = new Set<string>();
    debug.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (new URL(request.url).pathname.startsWith('/assets/')) pages.add(requestId);
      else asked.push(request.url);
    });
    debug.on('Network.dataReceived', ({ requestId, dataLength }) => {
      if (!pages.has(requestId)) bytes += dataLength;
    });
    await page.getByRole('link', { name: 'Operations' }).click();
    await page.getByRole('region', { name: 'Busiest routes' }).waitFor();
    // What has happened so far comes with the page; then a quarter of a minute.
    await page.waitForTimeout(3_000);
    bytes = 0;
    await page.waitForTimeout(15_000);
    expect(bytes).toBeLessThanOrEqual(5_000);
    const figures = asked.filter((url) => url.endsWith('/figures'));
    expect(figures).toHaveLength(1);
    // As a browser says it when another tab is in front.
    await page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => true, configurable: true });
      Object.defineProperty(document, 'visibilityState', { get: () => 'hidden', configurable: true });
      document.dispatchEvent(new Event('visibilitychange')); window.dispatchEvent(new Event('visibilitychange'))`);
    asked.length = 0;
    await page.waitForTimeout(6_000);
    expect(asked).toEqual([]);
  });

  test.each(looks)('no barrier in the $theme theme at the width of a $size', async (look) => {
    await using opened = await openPage(palaver(), '/operations', look);
    const { page } = opened;
    await page
      .getByRole('region', { name: 'Busiest routes' })
      .first()
      .getByText('POST /api/ussd', { exact: true })
      .waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    await keepPicture(page, `operations-${look.theme}-${look.size}`);
  });
}
