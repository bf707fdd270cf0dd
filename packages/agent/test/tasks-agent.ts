// An agent with the bank as a process of its own, whose model schedules payments and makes them when they are due.
import { setTimeout as sleep } from 'node:timers/promises';
import { createOracleApp } from '@palaver/agent-plugins';
import { createScriptedModel, type ScriptedStep } from '../src/index.ts';
import { createBank } from './bank-plugin.ts';

const { env } = process;
const step: ScriptedStep = async ({ prompt }) => {
  const last = prompt.at(-1);
  const [, name] = /pay (\w+)/.exec(JSON.stringify(last)) ?? [];
  const isDue = JSON.stringify(last).includes('[Scheduled task]');
  // Long enough that processes end in the middle of it.
  await sleep(isDue || last?.role === 'tool' ? 700 : 0);
  if (last?.role === 'tool' || !name) return { text: 'Done.' };
  if (isDue) return { toolCalls: [{ name: 'pay', args: { to: name, amount: 5 } }] };
  return { toolCalls: [{ name: 'schedule_task', args: { prompt: `pay ${name}`, in: '10 minutes' } }] };
};
const model = createScriptedModel(Array.from({ length: 1_000 }, () => step));
const app = await createOracleApp({ plugins: [createBank(env.PAID_FILE ?? '')], model: () => model, env });
await app.listen();
process.once('SIGTERM', () => void app.close().then(() => process.exit()));
