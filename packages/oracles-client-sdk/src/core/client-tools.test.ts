import { agentLimits } from '@palaver/contract';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runBrowserTool } from './client-tools.ts';

// The library carries no code of the contract, so it states the limit itself.
test('a result is as large as the agent takes it, and no larger', async () => {
  const quotes = 2;
  const run = (length: number) => {
    const read = { toolName: 'read', description: '', schema: z.object({}), fn: () => 'x'.repeat(length - quotes) };
    return runBrowserTool({ browserTools: { read } }, { toolName: 'read', args: {} });
  };
  expect((await run(agentLimits.toolResultBytes)).error).toBeUndefined();
  expect(await run(agentLimits.toolResultBytes + 1)).toEqual({
    result: null,
    error: 'The result is larger than 256 KiB.',
  });
});
