import type { launchBrowser } from '@palaver/test-kit';
import { expect } from 'vitest';

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof launchBrowser>>['newPage']>>;

/** What Chromium draws on a page that sets no colours of its own. */
const expected = {
  light: {
    background: '#ffffff',
    text: '#1d2321',
    muted: '#55605b',
    answer: '#f0f3f1',
    question: '#1c6148',
    field: '#8a938f',
    send: '#1c6148',
    sendText: '#ffffff',
  },
  dark: {
    background: '#171c1a',
    text: '#e8ecea',
    muted: '#a5b0ab',
    answer: '#242b28',
    question: '#8fd6b8',
    field: '#6f7a75',
    send: '#8fd6b8',
    sendText: '#10241c',
  },
};
export type Theme = keyof typeof expected;
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

/** Opens a conversation in the chat below `root` and has a question answered. */
export async function converse(page: Page, root: string): Promise<void> {
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
export async function expectColours(page: Page, root: string, theme: Theme): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: chosen by the person who runs the tests, not configuration.
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
  expect(styles, name).toEqual(expected[theme]);
  const { background, answer, question, field, send } = expected[theme];
  expect(Object.entries(pixels).toSorted(([, one], [, other]) => other - one)[0]?.[0], name).toBe(background);
  for (const colour of [answer, question, field, send]) expect(pixels[colour], `${name} ${colour}`).toBeGreaterThan(50);
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
