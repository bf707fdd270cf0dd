import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installTools } from '@palaver/test-kit/install-tools';
import type { Page } from './open-page.ts';

const axe = readFileSync(join(installTools('test'), 'node_modules/axe-core/axe.min.js'), 'utf8');

/** What axe finds, minor findings included. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string }[] }> } };
    return (await checker.run()).violations.map((finding) => JSON.stringify(finding));
  });
}
