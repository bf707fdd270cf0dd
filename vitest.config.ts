import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './packages/test-kit/src/longest-first.ts';

export default defineConfig({
  test: {
    include: ['{packages,services,apps,scripts,examples,test}/**/*.test.ts', '{packages,apps}/**/*.test.tsx'],
    globalSetup: ['packages/test-kit/src/global-setup.ts'],
    pool: 'forks',
    // The files of a worker share its modules. Loading them for each took most of the CPU time of small files.
    isolate: false,
    // Two more than there are cores, because tests with processes and timers mostly wait.
    maxWorkers: availableParallelism() + 2,
    // Tests that are marked as concurrent are those that start processes and mostly wait for them.
    maxConcurrency: 3,
    sequence: { sequencer: LongestFirst },
    // Limits for what never ends. No test is meant to come near them, on however slow or busy a machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 150_000 } },
    // An unhandled rejection fails the run: vitest's own default, stated because the house relies on it.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
