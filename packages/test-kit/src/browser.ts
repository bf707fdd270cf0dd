import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { loadTestPrograms } from './install-tools.ts';

const installed = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

// By default the browser contacts its maker's hosts; tests stay on loopback.
const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];

// The packed browser comes with arguments for cloud functions. These would end it with its first page, and switch off the
// rules between origins that apply to real pages.
const unwanted = new Set([
  '--single-process',
  '--no-zygote',
  '--disable-web-security',
  '--allow-running-insecure-content',
  '--disable-site-isolation-trials',
  // Drawing by an emulated graphics card took most of the browser's CPU time.
  '--ignore-gpu-blocklist',
  '--in-process-gpu',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
]);

/**
 * A real Chromium: `CHROMIUM_PATH`, else the one from npm (Linux x64), else an installed Chrome or Chromium. `extra` are
 * switches for it.
 */
export async function launchBrowser(extra: readonly string[] = []): Promise<Browser> {
  // Here, because loading it takes a second, which most test files would spend for nothing.
  const { chromium } = await import('playwright-core');
  const faults: string[] = [];
  for await (const { path, args } of candidates()) {
    try {
      const all = [...args, ...quiet, '--no-sandbox', '--disable-gpu', ...extra];
      return await chromium.launch({ executablePath: path, args: all, headless: true });
    } catch (error) {
      faults.push(`${path}: ${error instanceof Error ? error.message.split('\n')[0] : error}`);
    }
  }
  throw new Error(`no browser started; set CHROMIUM_PATH to a Chrome or Chromium.\n${faults.join('\n')}`);
}

async function* candidates(): AsyncGenerator<{ path: string; args: string[] }> {
  if (process.env.CHROMIUM_PATH) {
    yield { path: process.env.CHROMIUM_PATH, args: [] };
    return;
  }
  if (process.platform === 'linux' && process.arch === 'x64') {
    const packed = await (await loadTestPrograms()).loadChromium();
    yield { path: await packed.executablePath(), args: packed.args.filter((arg) => !unwanted.has(arg)) };
  }
  for (const path of installed) if (existsSync(path)) yield { path, args: [] };
}
