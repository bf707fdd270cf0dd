import { defineConfig } from 'vitest/config';

// `npm run check:clients`: chat pages of others, 600 MB of packages, in a real browser.
export default defineConfig({
  test: { include: ['test/clients/*.check.ts'], testTimeout: 180_000, hookTimeout: 600_000 },
});
