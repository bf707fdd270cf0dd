import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{packages,services,apps,scripts,examples,test}/**/*.test.ts', '{packages,apps}/**/*.test.tsx'],
    globalSetup: ['packages/test-kit/src/global-setup.ts'],
    pool: 'forks',
    // Vitest would leave one core idle, which on two is half the machine; most tests wait for servers.
    maxWorkers: Math.max(2, availableParallelism()),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Vitest's own second is short for a page on a busy machine; what is not there at all still fails.
    expect: { poll: { timeout: 15_000 } },
    // An unhandled rejection fails the run: vitest's own default, stated because the house relies on it.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
