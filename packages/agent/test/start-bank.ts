import { fileURLToPath } from 'node:url';
import { createTempDir, type Engine } from '@palaver/test-kit';
import { readPaid } from './bank-plugin.ts';
import { createAgentInstances } from './start-agent-process.ts';

const bankAgent = fileURLToPath(new URL('./bank-agent.ts', import.meta.url));

/** The agent with the bank, to be started as processes of one deployment. */
export async function createBankInstances(engine: Engine) {
  const dir = await createTempDir();
  const paidFile = `${dir.path}/paid`;
  const agent = await createAgentInstances(engine, { PAID_FILE: paidFile }, bankAgent);
  return {
    ...agent,
    paid: () => readPaid(paidFile),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}
