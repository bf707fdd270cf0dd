import { type ConfigOptions, type Env, type RunningService, runMain } from '@palaver/service-kit';
import { createOracleApp } from './create-oracle-app.ts';

export interface RunningAgent extends RunningService {
  oracleName: string;
  did: string;
  entityDid: string | undefined;
  model: string;
}

/** Starts the agent service from its environment. */
export async function startAgent(env: Env, options: ConfigOptions = {}): Promise<RunningAgent> {
  const app = await createOracleApp({ env, configOptions: options });
  try {
    const { name: oracleName, ...identity } = app.identity;
    return { name: 'agent', oracleName, ...identity, url: await app.listen(), close: app.close };
  } catch (error) {
    await app.close();
    throw error;
  }
}

if (import.meta.main) await runMain(startAgent, process.env);
