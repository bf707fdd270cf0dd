import type { GatewayAccess } from '@palaver/protocol';
import type { CloseStack, Logger } from '@palaver/service-kit';
import type { DatabaseClock } from '@palaver/store';
import type { KeyRing } from '@palaver/store/internal';
import type { UssdConfig } from '../config.ts';
import type { UssdMetrics } from '../metrics.ts';
import type { UssdStore } from './tables.ts';

/** What every folder of the service starts with. */
export interface Deployment {
  config: UssdConfig;
  logger: Logger;
  /** Open and migrated. */
  store: UssdStore;
  keys: KeyRing;
  metrics: UssdMetrics;
  clock: DatabaseClock;
  access: GatewayAccess | undefined;
  /** What programs may send in headers, by name. */
  secrets: Readonly<Record<string, string>>;
  started: CloseStack;
}
