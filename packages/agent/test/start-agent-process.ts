import { fileURLToPath } from 'node:url';
import {
  createTempDir,
  createTestDatabase,
  type Engine,
  freePort,
  startProcess,
  type TestProcess,
  waitFor,
} from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { agentTemplate, createTestUser, request, type TestUser } from './test-agent.ts';

const main = fileURLToPath(new URL('../../../services/agent/src/main.ts', import.meta.url));

export interface AgentInstance {
  process: TestProcess;
  url: string;
  /** The same person at every instance. */
  user: TestUser;
}

export interface AgentInstances extends AsyncDisposable {
  did: string;
  databaseUrl: string;
  start(env?: Record<string, string>): Promise<AgentInstance>;
}

/** Processes of one agent on one database, without Redis: the service, or another program. */
export async function createAgentInstances(
  engine: Engine,
  env: Record<string, string> = {},
  program = main,
): Promise<AgentInstances> {
  const opened = new AsyncDisposableStack();
  const database = opened.use(await createTestDatabase(engine, env.DATA_ENCRYPTION_KEY ? undefined : agentTemplate));
  const dir = opened.use(await createTempDir());
  const key = await createSigner();
  const signer = await createSigner();
  return {
    did: key.did(),
    databaseUrl: database.url,
    async start(more = {}) {
      const port = more.PORT ?? String(await freePort());
      const url = `http://127.0.0.1:${port}`;
      const started = startProcess(process.execPath, [program], {
        env: {
          PORT: port,
          DATA_DIR: dir.path,
          DATABASE_URL: database.url,
          ORACLE_PRIVATE_KEY: key.toSecret(),
          LOG_LEVEL: 'warn',
          OFFLINE_WORDS_PER_SECOND: '20',
          ...env,
          ...more,
        },
      });
      opened.defer(async () => {
        started.kill();
        await started.exited;
      });
      await waitFor('the service', async () => (await request(`${url}/health`)).status === 200);
      return { process: started, url, user: await createTestUser({ url: () => url, audience: key.did(), signer }) };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export interface AgentProcess extends AsyncDisposable {
  url: string;
  did: string;
  pid: number;
  output(): string;
  createUser(): Promise<TestUser>;
}

/** The service as a process of its own: what blocks or ends it does neither to the test. */
export async function startAgentProcess(env: Record<string, string> = {}): Promise<AgentProcess> {
  const instances = await createAgentInstances('sqlite', { LOG_LEVEL: 'debug', ...env });
  const { url, process } = await instances.start();
  return {
    url,
    did: instances.did,
    pid: process.child.pid ?? 0,
    output: process.output,
    createUser: () => createTestUser({ url: () => url, audience: instances.did }),
    [Symbol.asyncDispose]: () => instances[Symbol.asyncDispose](),
  };
}
