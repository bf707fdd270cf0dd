import { join } from 'node:path';
import { fingerprint } from './fingerprint.ts';

const root = join(import.meta.dirname, '../../../..');
/** Where a built page is kept, in a folder named by `buildName`. */
export const dist = join(import.meta.dirname, '../../dist');
/** Everything the page is made of. */
const sources = [
  'apps/console/web',
  'apps/console/src/metrics',
  'apps/console/public',
  'apps/console/index.html',
  'apps/console/vite.config.ts',
  'apps/console/package.json',
  'docs',
  'packages/contract/src',
  'packages/ucan/src',
  'packages/oracles-client-sdk/src',
  'packages/program/src',
  'examples/savings-group',
  'examples/price-list',
  'services/ussd/src/commands',
];

/** The name of the page that is built from these sources. */
export function buildName(): string {
  return fingerprint(root, sources);
}
