import {
  type Env,
  parseConfig,
  type RunningService,
  StartError,
  stopOnSignals,
  toConfigMessage,
} from '@palaver/service-kit';
import { services, unknownVariables } from '../services.ts';
import { toTable } from '../table.ts';

/** Runs every service in this process, each on its own port, until a signal comes. */
export async function up(env: Env): Promise<void> {
  const faults = services.flatMap(({ schema, portName }) => {
    const result = parseConfig(schema, env, { names: { PORT: portName } });
    return 'faults' in result ? result.faults : [];
  });
  faults.push(...unknownVariables(env));
  if (faults.length > 0) throw new StartError(toConfigMessage(faults));

  const running: RunningService[] = [];
  const rows: string[][] = [];
  try {
    for (const { title, portName, start, hint } of services) {
      const service = await start(env, { names: { PORT: portName } });
      running.push(service);
      rows.push([title, service.url, hint(service.url)]);
    }
  } catch (error) {
    await Promise.allSettled(running.map((service) => service.close()));
    throw error;
  }
  stopOnSignals(running);
  process.stdout.write(`\n${toTable(['Service', 'Address', 'Try'], rows)}\n\nCtrl-C stops everything.\n\n`);
}
