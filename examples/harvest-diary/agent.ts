// A harvest diary. `node examples/harvest-diary/agent.ts` starts it, talks to it once and stops; --serve keeps it running.
import { createOracleApp } from '@palaver/agent-plugins';
import { converse } from '../converse.ts';
import { harvestDiary } from './harvest-diary.ts';

const app = await createOracleApp({
  config: { name: 'Harvest diary' },
  plugins: [harvestDiary],
  env: { PORT: '0', DATA_DIR: 'data/examples/harvest-diary', LOG_LEVEL: 'warn', ...process.env },
});

await converse(
  app,
  [
    { say: 'call me Ana', expect: /Noted/ },
    { say: '/tool record_harvest {"crop": "maize", "kilograms": 120}', expect: /120 kg of maize/ },
    { say: '/tool record_harvest {"crop": "maize", "kilograms": 99999}', expect: /ten tonnes/ },
    { say: '/tool list_harvests', expect: /"kilograms":120/ },
    { say: 'and now?', expect: /^Ana, / },
  ],
  ['/harvests', '/user-preferences'],
);
