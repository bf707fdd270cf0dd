import type { FileRegistry } from '@bufbuild/protobuf';
import type { World } from '../world/world.ts';
import type { TxDecoder } from './decode-tx.ts';
import type { TxEvent } from './tx-event.ts';
import type { TxFault } from './tx-fault.ts';
import type { WorldChanges } from './world-changes.ts';

export type Outcome = { ok: true; events: TxEvent[] } | TxFault;

export interface Execution {
  protocol: FileRegistry;
  world: World;
  changes: WorldChanges;
  blockTime: Date;
  decoder: TxDecoder;
}
