import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { launchBrowser } from '@palaver/test-kit';
import { expect } from 'vitest';

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof launchBrowser>>['newPage']>>;

/** What Chromium draws on a page that sets no colours of its own. */
const expected = {
  light: {
    background: '#ffffff',
    text: '#1f1f1f',
    muted: '#525252',
    answer: '#f0f0f0',
    question: '#1c6045',
    field: '#808080',
    send: '#1c6045',
    sendText: '#ffffff',
  },
  dark: {
    background: '#121212',
    text: '#e3e3e3',
    muted: '#b3b3b3',
    answer: '#202020',
    question: '#9be0c5',
    field: '#898989',
    send: '#9be0c5',
    sendText: '#121212',
  },
};
type Theme = keyof typeof expected;
type Colours = (typeof expected)['light'];

/** The element and the property that have each colour. */
const places: Record<keyof Colours, [selector: string, property: string]> = {
  background: ['.palaver-chat', 'background-color'],
  text: ['.palaver-thread', 'color'],
  muted: ['.palaver-quiet', 'color'],
  answer: ['.palaver-message:not(.palaver-human)', 'background-color'],
  question: ['.palaver-human', 'border-top-color'],
  field: ['.palaver-composer textarea', 'border-top-color'],
  send: ['.palaver-main', 'background-color'],
  sendText: ['.palaver-main', 'color'],
};

/** The files of `projects/html`, where the library is in `library`. */
export async function loadPlainPage(library: string): Promise<Map<string, string | Uint8Array>> {
  const html = await readFile(join(import.meta.dirname, 'projects/html/index.html'));
  const scripts = (await readdir(join(library, 'dist/web'))).map(
    async (name) =>
      [
        `/node_modules/@palaver/oracles-client-sdk/dist/web/${name}`,
        await readFile(join(library, 'dist/web', name)),
      ] as const,
  );
  return new Map([['/index.html', html], ...(await Promise.all(scripts))]);
}

/** A page that follows the device. */
export async function checkBothThemes(page: Page, roots: readonly string[]): Promise<void> {
  for (const root of roots) {
    await converse(page, root);
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme });
      await expectColours(page, root, theme);
    }
  }
}

/** The elements of `projects/html`, each with a theme of its own; a page that says nothing is light on every device. */
export async function checkOwnThemes(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const [id, theme] of Object.entries({ page: 'light', dark: 'dark', light: 'light', auto: 'dark' } as const)) {
    await converse(page, `#${id}`);
    await expectColours(page, `#${id}`, theme);
  }
}

/** Opens a conversation in the chat below `root` and has a question answered. */
async function converse(page: Page, root: string): Promise<void> {
  const chat = page.locator(root);
  await chat.getByRole('button', { name: 'New conversation' }).click();
  await chat.getByLabel('Message', { exact: true }).fill('/long 3');
  await page.keyboard.press('Enter');
  await chat.getByRole('log').getByText('word1 word2 word3').waitFor();
  // A button that is disabled is drawn in paler colours.
  await chat.getByLabel('Message', { exact: true }).fill('And then?');
  await chat.getByRole('button', { name: 'Send' }).waitFor();
}

/**
 * Expects the colours of a theme in the styles and in a picture of the chat below `root`. With `SCREENSHOTS`, the folder of
 * that name keeps the pictures.
 */
async function expectColours(page: Page, root: string, theme: Theme): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  const name = `${expect.getState().currentTestName} ${root} ${theme}`;
  const path = folder && `${folder}/${name.replaceAll(/\W+/g, '-')}.png`;
  const image = await page
    .locator(root)
    .locator('.palaver-chat')
    .screenshot(path ? { path } : {});
  const { styles, pixels } = await page.evaluate<{ styles: Colours; pixels: Record<string, number> }>(
    `(${readColours})(${JSON.stringify(root)}, ${JSON.stringify(places)}, '${image.toString('base64')}')`,
  );
  const colours = expected[theme];
  const differing = Object.entries(colours).filter(
    ([place, colour]) => !isNear(styles[place as keyof Colours], colour),
  );
  expect(differing, `${name}: ${JSON.stringify(styles)}`).toEqual([]);
  const count = (colour: string) =>
    Object.entries(pixels).reduce((sum, [drawn, times]) => sum + (isNear(drawn, colour) ? times : 0), 0);
  const all = Object.values(pixels).reduce((sum, times) => sum + times);
  expect(count(colours.background), name).toBeGreaterThan(all / 2);
  for (const place of ['answer', 'question', 'field', 'send'] as const) {
    expect(count(colours[place]), `${name} ${place}`).toBeGreaterThan(50);
  }
}

/** Browsers round mixed colours differently. */
function isNear(one: string, other: string): boolean {
  const [left, right] = [one, other].map((hex) => Buffer.from(hex.slice(1), 'hex'));
  return left?.every((byte, index) => Math.abs(byte - (right?.[index] ?? 0)) <= 2) ?? false;
}

/** Runs in the page. A canvas turns a colour of any notation, and a picture, into bytes. */
const readColours = `async (root, places, image) => {
  const toHex = (bytes) => '#' + [...bytes.slice(0, 3)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const read = (width, height, draw) => {
    const canvas = new OffscreenCanvas(width, height).getContext('2d');
    draw(canvas);
    return canvas.getImageData(0, 0, width, height).data;
  };
  const host = document.querySelector(root);
  const styles = {};
  for (const [name, [selector, property]] of Object.entries(places)) {
    const element = (host.shadowRoot ?? host).querySelector(selector);
    const colour = getComputedStyle(element).getPropertyValue(property);
    styles[name] = toHex(read(1, 1, (canvas) => {
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
    }));
  }
  const bytes = Uint8Array.from(atob(image), (letter) => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes]));
  const data = read(bitmap.width, bitmap.height, (canvas) => canvas.drawImage(bitmap, 0, 0));
  const pixels = {};
  for (let at = 0; at < data.length; at += 4) {
    const colour = toHex(data.slice(at, at + 3));
    pixels[colour] = (pixels[colour] ?? 0) + 1;
  }
  return { styles, pixels };
}`;
