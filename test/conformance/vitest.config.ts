import { defineConfig } from 'vitest/config';

// The public suites of the standards, against the agent: `npm run check:a2a-tck`, `npm run check:mcp-conformance`.
export default defineConfig({
  test: { include: ['test/conformance/*.check.ts'], testTimeout: 900_000, hookTimeout: 600_000 },
});
