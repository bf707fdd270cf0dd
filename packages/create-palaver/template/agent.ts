import { withEnvFile } from '@palaver/agent';
import { createOracleApp } from '@palaver/agent-plugins';
import { forecast } from './weather.ts';

export const app = await createOracleApp({
  config: { name: 'Farm helper' },
  instructions: 'You advise farmers.',
  tools: { forecast },
  env: { PORT: '4100', ...withEnvFile(process.env) },
});
console.log(`Farm helper listens at ${await app.listen()}`);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void app.close());
