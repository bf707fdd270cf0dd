import type { BrowserTools } from '../core/client-tools.ts';
import type { StreamingMode } from '../core/event-buffer.ts';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { OracleError } from '../core/oracle-error.ts';
import type { Schema } from '../core/schema.ts';
import type { AnyEvent } from '../core/wire.ts';
import type { IMessage } from './message-content.ts';
import type { UIComponents } from './ui-components.ts';

export interface IChatOptions<Schemas extends Record<string, Schema> = Record<string, Schema>> {
  oracleDid: string;
  sessionId: string;
  onPaymentRequiredError: (claimIds: string[]) => void;
  browserTools?: BrowserTools<Schemas> | undefined;
  uiComponents?: UIComponents | undefined;
  overrides?: ConfigOverrides | undefined;
  streamingMode?: StreamingMode | undefined;
  /** How often `throttled` draws: every 50 ms by default. */
  streamingThrottleMs?: number | undefined;
  /** Messages per page of the history: 20 by default. */
  historyPageSize?: number | undefined;
  /** The model that answers, of `useModels`; the agent's own by default. */
  model?: string | undefined;
  /** Called with every event of the session, `router_update` included. */
  onEvent?: ((event: AnyEvent) => void) | undefined;
  /** Called when an answer has ended without a failure. */
  onFinish?: ((message: IMessage) => void) | undefined;
  /** Called when a message or its answer fails. */
  onError?: ((error: OracleError) => void) | undefined;
}
