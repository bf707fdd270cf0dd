// An agent with the bank as a process of its own, so that it can be killed.
import { createOracleApp } from '@palaver/agent-plugins';
import { createBank } from './bank-plugin.ts';

const { env } = process;
const app = await createOracleApp({ plugins: [createBank(env.PAID_FILE ?? '')], env });
await app.listen();
process.once('SIGTERM', () => void app.close().then(() => process.exit()));
