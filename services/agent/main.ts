import { type ConfigOptions, type Env, type RunningService, runMain } from '@palaver/service-kit';
import { createOracleApp } from './create-oracle-app.ts';

/** Starts the agent service from its environment. */
export async function startAgent(env: Env, options: ConfigOptions = {}): Promise<RunningService> {
  const app = await createOracleApp({ env, configOptions: options });
  try {
    return { name: 'agent', url: await app.listen(), close: app.close };
  } catch (error) {
    await app.close();
    throw error;
  }
}

if (import.meta.main) await runMain(startAgent, process.env);
