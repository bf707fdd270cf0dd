// A harvest diary: `node examples/harvest-diary/agent.ts`, then `npx palaver chat http://127.0.0.1:4100`.
import { withEnvFile } from '@palaver/agent';
import { createOracleApp } from '@palaver/agent-plugins';
import { harvestDiary } from './harvest-diary.ts';

export const app = await createOracleApp({
  config: { name: 'Harvest diary' },
  plugins: [harvestDiary],
  env: { PORT: '4100', ...withEnvFile(process.env) },
});
console.log(`Harvest diary listens at ${await app.listen()}`);
