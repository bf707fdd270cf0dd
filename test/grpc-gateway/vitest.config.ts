import { defineConfig } from 'vitest/config';

// `npm run check:grpc-gateway`: the gateway beside grpc-gateway 2 on the same server. Needs Go.
export default defineConfig({
  test: { include: ['test/grpc-gateway/*.check.ts'], testTimeout: 600_000, hookTimeout: 600_000 },
});
