import { defineConfig } from 'vitest/config';

// `npm run check:grpc-go`: the gateway's calls against a grpc-go server with its own rules. Needs Go.
export default defineConfig({
  test: { include: ['test/grpc-go/*.check.ts'], testTimeout: 600_000, hookTimeout: 600_000 },
});
