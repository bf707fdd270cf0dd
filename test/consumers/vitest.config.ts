import { defineConfig } from 'vitest/config';

// `npm run check:consumers`: installs the packed client library into new projects, builds and opens them in a browser.
export default defineConfig({
  test: { include: ['test/consumers/*.check.ts'], testTimeout: 300_000, hookTimeout: 300_000 },
});
