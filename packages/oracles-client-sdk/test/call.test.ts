import { launchBrowser, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { buildPage } from './build-page.ts';
import { createKey, newSession, openPage, type Page } from './open-page.ts';
import type { Guest, Segment } from './page/guest-interface.ts';
import { serveFiles } from './serve-files.ts';
import { startAgent, type TestAgent } from './start-agent.ts';
import { startLiveKit } from './start-livekit.ts';

// biome-ignore lint/style/noProcessEnv: LiveKit comes from no package; who has it names it.
const { LIVEKIT_SERVER_BIN: binary, SCREENSHOTS: folder } = process.env;

type Browser = Awaited<ReturnType<typeof launchBrowser>>;
let livekit: Awaited<ReturnType<typeof startLiveKit>>;
let agent: TestAgent;
let site: Awaited<ReturnType<typeof serveFiles>>;
let browser: Browser;

beforeEach(({ skip }) => {
  if (!binary) skip('calls need a LiveKit server: name the program in LIVEKIT_SERVER_BIN');
});

beforeAll(async () => {
  if (!binary) return;
  livekit = await startLiveKit(binary);
  agent = await startAgent(livekit.env);
  site = await serveFiles(await buildPage(19));
  browser = await launchBrowser([
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
    '--auto-select-desktop-capture-source=Entire screen',
    '--allow-loopback-in-peer-connection',
  ]);
});

afterAll(async () => {
  await browser?.close();
  await site?.close();
  await agent?.[Symbol.asyncDispose]();
  await livekit?.[Symbol.asyncDispose]();
});

interface Ticket {
  callId: string;
  url: string;
  token: string;
  encryptionKey: string;
  roomName: string;
}

/** What the agent's own voice is let in with. Without an operator's token, loopback is the operator. */
async function fetchVoiceTicket({ callId }: Ticket): Promise<Ticket> {
  const response = await fetch(`${agent.url}/calls/${callId}`);
  return (await response.json()) as Ticket;
}

/** As much of a video element as is asked for here: the tests are Node code. */
interface Screen {
  getVideoPlaybackQuality(): { totalVideoFrames: number };
}

async function openCaller(from: Browser = browser): Promise<Page> {
  const page = await openPage(from, site.url, { url: agent.url, did: agent.did, key: await createKey() });
  await newSession(page);
  return page;
}

const click = (page: Page, name: string | RegExp) => page.locator('#call').getByRole('button', { name }).click();

async function call(page: Page): Promise<Ticket> {
  const answered = page.waitForResponse((response) => response.url().endsWith('/calls') && response.status() === 201);
  await click(page, 'Call');
  const ticket = (await (await answered).json()) as Ticket;
  await page.locator('#call[data-status="connected"]').waitFor();
  return ticket;
}

async function openGuest({ url, token, encryptionKey: key }: Ticket) {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  await page.goto(`${site.url}/guest.html`);
  await page.evaluate((how) => (globalThis as unknown as { guest: Guest }).guest.join(how), { url, token, key });
  return {
    look: () => page.evaluate(() => (globalThis as unknown as { guest: Guest }).guest.look()),
    leave: () => page.evaluate(() => (globalThis as unknown as { guest: Guest }).guest.leave()),
    transcribe: (segment: Segment) =>
      page.evaluate((what) => (globalThis as unknown as { guest: Guest }).guest.transcribe(what), segment),
  };
}

async function show(page: Page, name: string): Promise<void> {
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

const me = (page: Page) => page.locator('#participants > li[data-local="true"]');
const other = (page: Page) => page.locator('#participants > li[data-local="false"]');

it('connects: microphone, camera, screen, the other side, and the end', async () => {
  const page = await openCaller();
  const ticket = await call(page);
  await me(page).getByText('microphone encrypted').waitFor();
  const guest = await openGuest(await fetchVoiceTicket(ticket));
  const seen = async () => (await guest.look()).others[0];

  await other(page).getByText('Palaver: microphone camera').waitFor();
  await page.locator('#participants > li[data-local="false"][data-encrypted="true"]').waitFor();
  await waitFor('the microphone there', async () => (await seen())?.microphone === true);

  await click(page, 'Microphone on');
  await waitFor('silence there', async () => (await seen())?.microphone === false);
  await click(page, 'Microphone off');
  await waitFor('the microphone there again', async () => (await seen())?.microphone === true);

  await click(page, 'Camera off');
  await waitFor('pictures there', async () => (await guest.look()).frames > 0);
  await waitFor('pictures here', () =>
    other(page)
      .locator('video')
      .evaluate((video) => (video as unknown as Screen).getVideoPlaybackQuality().totalVideoFrames > 0),
  );
  await click(page, /^Screen not/);
  await waitFor('the screen there', async () => (await seen())?.screen === true);
  await show(page, 'call');
  await click(page, 'Screen shared');
  await click(page, 'Camera on');
  await waitFor('neither there', async () => {
    const { camera, screen } = (await seen()) ?? {};
    return camera === false && screen === false;
  });

  await guest.leave();
  await waitFor('to be alone', async () => (await other(page).count()) === 0);
  const ended = page.waitForResponse((response) => response.request().method() === 'DELETE' && response.ok());
  await click(page, 'Hang up');
  await ended;
  await page.locator('#call[data-status="idle"]').waitFor();
  expect(await page.locator('#participants > li').count()).toBe(0);
  expect(await page.locator('#call [role=alert]').textContent()).toBe('');
});

it('is encrypted from end to end: without the key there is nothing to be seen', async () => {
  const page = await openCaller();
  const ticket = await call(page);
  const token = await livekit.createToken('Eve', ticket.roomName);
  const eavesdropper = await openGuest({ ...ticket, token, encryptionKey: 'of another call' });
  await click(page, 'Camera off');
  await waitFor('pictures on the way there', async () => (await eavesdropper.look()).bytes > 50_000);
  const { faults, frames } = await eavesdropper.look();
  expect(faults).not.toEqual([]);
  expect(frames).toBe(0);
  await page.getByText('Part of the call could not be decrypted.').waitFor();
  await show(page, 'call-wrong-key');
});

it('shows what is said as it is said', async () => {
  const page = await openCaller();
  const guest = await openGuest(await fetchVoiceTicket(await call(page)));
  await other(page).waitFor();
  await guest.transcribe({ id: 'one', parts: ['Good '], isFinal: false });
  await page.locator('#transcript > li[data-final="false"]').getByText(`${agent.did}: Good`).waitFor();
  await guest.transcribe({ id: 'one', parts: ['Good ', 'morning'], isFinal: true });
  await guest.transcribe({ id: 'two', parts: ['How are you?'], isFinal: true });
  await page.locator('#transcript > li[data-final="true"]').getByText('How are you?').waitFor();
  expect(await page.locator('#transcript > li').allTextContents()).toEqual([
    `${agent.did}: Good morning`,
    `${agent.did}: How are you?`,
  ]);
  await show(page, 'call-transcript');
});

it.each([
  [
    'is denied',
    ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream=deny'],
    'Access to the microphone was denied.',
  ],
  ['is missing', ['--use-fake-ui-for-media-stream'], 'No microphone was found.'],
])('continues when the microphone %s', async (why, switches, message) => {
  const silent = await launchBrowser([...switches, '--allow-loopback-in-peer-connection']);
  onTestFinished(() => silent.close());
  const page = await openCaller(silent);
  await call(page);
  await page.getByText(message).waitFor();
  expect(await page.locator('#call').getAttribute('data-status')).toBe('connected');
  await show(page, `call-microphone-${why.split(' ')[1]}`);
});

it('hangs up at once, also before it is connected', async () => {
  const page = await openCaller();
  const ended = page.waitForResponse((response) => response.request().method() === 'DELETE' && response.ok());
  await click(page, 'Call');
  await click(page, 'Hang up');
  await ended;
  expect(await page.locator('#call').getAttribute('data-status')).toBe('idle');
  await call(page);
});

it('hangs up when the room is closed at the other end, and can call again', async () => {
  const page = await openCaller();
  const { roomName } = await call(page);
  await livekit.closeRoom(roomName);
  await page.locator('#call[data-status="idle"]').waitFor();
  expect(await page.locator('#call [role=alert]').textContent()).toBe('');
  await call(page);
});

it('comes back when the LiveKit server does', async () => {
  const page = await openCaller();
  await call(page);
  await me(page).getByText('microphone').waitFor();
  await livekit.restart(() => page.locator('#call[data-status="reconnecting"]').waitFor());
  await page.locator('#call[data-status="connected"]').waitFor();
  await me(page).getByText('microphone encrypted').waitFor();
});
