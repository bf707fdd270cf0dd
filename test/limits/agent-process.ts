// The agent with everything bundled and one tool that asks for approval: the offline model calls it as `/tool report {}`.
import { randomBytes } from 'node:crypto';
import { defineOraclePlugin, tool } from '@palaver/agent';
import { createOracleApp } from '@palaver/agent-plugins';
import { z } from 'zod';

const reports = defineOraclePlugin({
  name: 'reports',
  version: '1.0.0',
  manifest: { title: 'Reports', summary: 'Reports.', whenToUse: [], visibility: 'silent', stability: 'stable' },
  getTools: () => ({
    report: tool({
      description: 'Reports the files of the message.',
      inputSchema: z.object({}),
      needsApproval: true,
      execute: (_args, { blobStore }) => ({ files: blobStore.list().length }),
    }),
    print: tool({
      description: 'Prints text that does not compress.',
      inputSchema: z.object({ bytes: z.number().int().min(1).max(200_000) }),
      execute: ({ bytes }) => randomBytes((bytes * 3) / 4).toString('base64'),
    }),
  }),
});

const app = await createOracleApp({ plugins: [reports], env: process.env });
await app.listen();
