'use client';

import { createContext, useContext } from 'react';
import type { Chat } from '../core/chat-interface.ts';
import type { ChainMessage } from '../core/contract-messages.ts';
import type { CredentialCache } from '../core/credentials.ts';
import type { ConfigOverrides, OracleConfig } from '../core/oracle-config.ts';
import type { Store } from '../core/store.ts';
import type { MatrixSession, Transport } from '../core/transport.ts';
import type { AnyEvent } from '../core/wire.ts';
import type { ActionRegistry } from './action-registry.ts';
import type { FindChat } from './shared-chats.ts';
import type { UIComponents } from './ui-components.ts';

export interface Wallet {
  address: string;
  did: string;
  matrix: MatrixSession;
}

/** Signs and broadcasts chain transactions. */
export type TransactSignX = (messages: ChainMessage[], memo?: string) => Promise<unknown>;

/** Lets a tool run, or not; the agent reads the reason. */
export type AnswerApproval = (approved: boolean, reason?: string) => Promise<unknown>;

export interface OraclesContextValue {
  wallet: Wallet;
  transactSignX: TransactSignX;
  credentials: CredentialCache;
  gatewayUrl: string | undefined;
  /** The agent of hooks that are given none. */
  oracleDid: string | undefined;
  overrides: ConfigOverrides | undefined;
  resolveConfig(oracleDid: string): Promise<OracleConfig>;
  createTransport(oracleDid: string, apiUrl: string): Transport;
  /** @deprecated Use the hooks, or `createTransport`. */
  authedRequest: <T>(url: string, method: string, options?: RequestInit, oracleDid?: string) => Promise<T>;
  /** @deprecated Use `credentials`. */
  getDelegation: (oracleDid: string) => Promise<string | null>;
  /** @deprecated Use `credentials`. */
  getInvocation: (oracleDid: string) => Promise<string | null>;
  actions: ActionRegistry;
  /** The `uiComponents` of every chat on the page. */
  components: Store<readonly UIComponents[]>;
  /** Counts finished turns: what lists of sessions show of them has changed. */
  turns: Store<number>;
  /** The agents that hooks below were given. */
  agents: Store<readonly string[]>;
  /** Who listens to events. */
  events: Set<(event: AnyEvent, sessionId: string) => void>;
  findChat: FindChat;
  /** The chats that the page shows. */
  chats: Set<Chat>;
  /** How pending approvals of the page's chats are answered, by their ids. */
  answers: Map<string, AnswerApproval>;
  /** Ids of the calls that run on this page at this moment. */
  executing: Store<ReadonlySet<string>>;
}

export const OraclesContext = createContext<OraclesContextValue | null>(null);

export function useOraclesContext(): OraclesContextValue {
  const context = useContext(OraclesContext);
  if (!context) throw new Error('useOraclesContext must be used within a OraclesProvider');
  return context;
}
