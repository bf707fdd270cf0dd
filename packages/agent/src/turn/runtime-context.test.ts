import { startEndlessServer } from '@palaver/test-kit';
import { expect, it } from 'vitest';
import { resolveServiceDid } from './runtime-context.ts';

it('an endless DID document of a service is not read to its end', async () => {
  await using server = await startEndlessServer();
  await expect(resolveServiceDid(server.url)).rejects.toThrow();
  expect(server.sentBytes()).toBeLessThan(16_000_000);
});
