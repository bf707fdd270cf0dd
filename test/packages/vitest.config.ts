import { defineConfig } from 'vitest/config';

// `npm run check:packages`: installs the packed packages outside the repository and uses them, on Node 22 and 24.
export default defineConfig({
  test: { include: ['test/packages/*.check.ts'], testTimeout: 300_000, hookTimeout: 300_000, bail: 1 },
});
