import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createBundledPlugins } from './create-oracle-app.ts';

describe.each(createBundledPlugins().map((plugin) => [plugin.name, plugin] as const))('%s', (name, plugin) => {
  // All doors are on one page, beside each other.
  const path = name.endsWith('-door') ? 'standards.md' : `plugins/${name}.md`;
  const page = () => readFile(new URL(`../../../docs/${path}`, import.meta.url), 'utf8');

  it('has a page that names its variables and its public routes', async () => {
    const text = await page();
    const paths = (plugin.getAuthExcludedRoutes?.() ?? []).map((route) =>
      typeof route === 'string' ? route : route.path,
    );
    for (const word of [...Object.keys(plugin.configSchema?.shape ?? {}), ...paths]) expect(text).toContain(word);
  });

  it('says what to set where it looks for its configuration', () => {
    expect(plugin.autoDetectHint === undefined).toBe(plugin.autoDetect === undefined);
  });
});
