// A market helper. `node examples/market-prices/agent.ts` starts it, talks to it once and stops; --serve keeps it running.
import { createOracleApp } from '@palaver/agent-plugins';
import { converse } from '../converse.ts';
import { marketPrices } from './market-prices.ts';

const app = await createOracleApp({
  config: { name: 'Market helper' },
  plugins: [marketPrices],
  env: { PORT: '0', DATA_DIR: 'data/examples/market-prices', LOG_LEVEL: 'warn', ...process.env },
});

await converse(
  app,
  [
    { say: 'what can you do?', expect: /price_of/ },
    { say: '/tool price_of {"crop": "maize", "kilograms": 20}', expect: /1040.*KES/ },
    { say: '/tool price_of {"crop": "gold"}', expect: /the market has no gold/ },
  ],
  ['/prices'],
);
