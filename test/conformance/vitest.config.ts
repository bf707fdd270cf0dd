import { defineConfig } from 'vitest/config';

// The public suites of the standards and the clients of others: `npm run check:a2a-tck`, `npm run check:mcp-conformance`,
// `npm run check:clients`, `npm run check:openapi`.
export default defineConfig({
  test: {
    include: ['test/conformance/*.check.ts'],
    testTimeout: 1_800_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
