import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, freePort, launchBrowser, startProcess, waitFor } from '@palaver/test-kit';
import { installTools } from '@palaver/test-kit/install-tools';
import type { Browser, Page } from 'playwright-core';

const root = join(import.meta.dirname, '../../..');
const axe = readFileSync(join(installTools('test'), 'node_modules/axe-core/axe.min.js'), 'utf8');

export interface TestConsole {
  url: string;
  browser: Browser;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Everything as `npm start` runs it, on free ports with an empty data folder, and a real browser. */
export async function startTestConsole(env: Record<string, string> = {}): Promise<TestConsole> {
  const dir = await createTempDir();
  const child = startProcess(process.execPath, [join(root, 'apps/cli/bin/palaver.js'), 'up'], {
    cwd: dir.path,
    env: {
      LOG_LEVEL: 'warn',
      RATE_LIMIT_PER_MINUTE: '1000000',
      METRICS_INTERVAL_SECONDS: '1',
      USSD_PORT: '0',
      AGENT_PORT: '0',
      DEVNODE_PORT: '0',
      CONSOLE_PORT: '0',
      GATEWAY_PORT: String(await freePort()), // the agent gets it before it listens
      ...env,
    },
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await child.exited;
    await dir[Symbol.asyncDispose]();
  };
  try {
    await child.printed('Ctrl-C stops everything.');
    const url = /console page +(http:\S+)/.exec(child.output())?.[1] ?? '';
    await waitFor('the page to be built', async () => (await fetch(url)).ok);
    const browser = await launchBrowser();
    return {
      url,
      browser,
      async [Symbol.asyncDispose]() {
        await browser.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export interface OpenOptions {
  theme?: 'light' | 'dark';
  size?: keyof typeof sizes;
  /** Of the browser. */
  locale?: string;
  /** Somebody who has never been here: the tour is shown. */
  isFirstVisit?: boolean;
  /** A finger instead of a mouse. */
  isTouch?: boolean;
}

export interface OpenPage {
  page: Page;
  /** What the page complained about in the browser's console, faults of scripts included. */
  complaints: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** Both themes and both widths; all four pairs where pictures are taken. */
export const looks: OpenOptions[] =
  process.env.PICTURES === 'all'
    ? (['light', 'dark'] as const).flatMap((theme) => (['desktop', 'phone'] as const).map((size) => ({ theme, size })))
    : [
        { theme: 'light', size: 'desktop' },
        { theme: 'dark', size: 'phone' },
      ];

export const sizes = {
  desktop: { width: 1280, height: 800 },
  tablet: { width: 820, height: 1180 },
  phone: { width: 390, height: 844 },
};

export async function openPage(
  { browser, url }: TestConsole,
  path: string,
  { theme = 'light', size = 'desktop', locale = 'en-GB', isFirstVisit = false, isTouch = false }: OpenOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: sizes[size],
    colorScheme: theme,
    acceptDownloads: true,
    locale,
    reducedMotion: 'reduce',
    ...(isTouch && { hasTouch: true, isMobile: true }),
  });
  if (!isFirstVisit) await context.addInitScript("localStorage.setItem('palaver.tour', 'done')");
  context.setDefaultTimeout(150_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url + path);
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

interface Finding {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** Findings of axe on the current page, of any impact. */
export async function findBarriers(page: Page): Promise<string[]> {
  // Injected by the debugger: the page's own policy lets in no script from elsewhere.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
  const findings = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: { run(options: { resultTypes: string[] }): Promise<{ violations: Finding[] }> };
    };
    // It would also gather details of every element that passes.
    return (await checker.run({ resultTypes: ['violations'] })).violations;
  });
  return findings.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
  );
}

interface Target {
  name: string;
  width: number;
  height: number;
}

/**
 * Controls smaller than 44 by 44 pixels, but for links inside a sentence and the states on a map, which is zoomed. A
 * checkbox is as large as its label.
 */
export function findSmallTargets(page: Page): Promise<Target[]> {
  return page.evaluate<Target[]>(`(() => {
    const controls = [...document.querySelectorAll('button, a, select, summary, input:not([type=file])')];
    return controls.flatMap((control) => {
      const { width, height } = (control.closest('.check-field') ?? control).getBoundingClientRect();
      const isExempt = control.matches('p a, .skip-link, .state-node');
      if (width === 0 || isExempt || (width >= 44 && height >= 44)) return [];
      return [{ name: control.outerHTML.slice(0, 120), width, height }];
    });
  })()`);
}

/** How many pixels the page is wider than its window. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

const pictures = process.env.PICTURES;
const readmePictures = ['phone', 'programs', 'chat', 'explorer', 'operations'];

/** `PICTURES=all` keeps every picture in dist/pictures, to look at; `PICTURES=readme` renews those of the README. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (!pictures || (pictures === 'readme' && !readmePictures.includes(name))) return;
  const folder = pictures === 'readme' ? 'docs/images' : 'apps/console/dist/.pictures';
  mkdirSync(join(root, folder), { recursive: true });
  await page.screenshot({ path: join(root, folder, `console-${name}.png`), animations: 'disabled' });
}
