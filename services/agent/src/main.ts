import { createOracleApp } from '@palaver/agent-plugins';
import {
  CloseStack,
  type ConfigOptions,
  type Env,
  isMain,
  keepOpen,
  type RunningService,
  runMain,
} from '@palaver/service-kit';

export interface RunningAgent extends RunningService {
  oracleName: string;
  did: string;
  entityDid: string | undefined;
  model: string;
}

export async function startAgent(env: Env, options: ConfigOptions = {}): Promise<RunningAgent> {
  await using started = new CloseStack();
  const app = started.adopt(await createOracleApp({ env, configOptions: options }), (app) => app.close());
  const { name: oracleName, ...identity } = app.identity;
  const { drainDelayMs } = app;
  return { name: 'agent', oracleName, ...identity, drainDelayMs, url: await app.listen(), close: keepOpen(started) };
}

if (isMain(import.meta.url)) await runMain(startAgent, process.env);
