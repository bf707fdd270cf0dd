import { fileURLToPath } from 'node:url';
import { createTempDir, freePort, startProcess, waitFor } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { createTestUser, request, type TestUser } from './test-agent.ts';

const main = fileURLToPath(new URL('../../../services/agent/src/main.ts', import.meta.url));

export interface AgentProcess extends AsyncDisposable {
  url: string;
  did: string;
  pid: number;
  output(): string;
  createUser(): Promise<TestUser>;
}

/** The service as a process of its own: what blocks or ends it does neither to the test. */
export async function startAgentProcess(env: Record<string, string> = {}): Promise<AgentProcess> {
  const dir = await createTempDir();
  const key = await createSigner();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const started = startProcess(process.execPath, [main], {
    env: { PORT: String(port), DATA_DIR: dir.path, ORACLE_PRIVATE_KEY: key.toSecret(), LOG_LEVEL: 'debug', ...env },
  });
  await waitFor('the service', async () => (await request(`${url}/health`)).status === 200, 60_000);
  return {
    url,
    did: key.did(),
    pid: started.child.pid ?? 0,
    output: started.output,
    createUser: () => createTestUser({ url: () => url, audience: key.did() }),
    async [Symbol.asyncDispose]() {
      started.kill();
      await started.exited;
      await dir[Symbol.asyncDispose]();
    },
  };
}
