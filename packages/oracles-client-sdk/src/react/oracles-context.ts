'use client';

import { createContext, useContext, useEffect } from 'react';
import type { Chat } from '../core/chat.ts';
import type { ChainMessage } from '../core/contract-messages.ts';
import type { CredentialCache } from '../core/credentials.ts';
import type { ConfigOverrides, OracleConfig } from '../core/oracle-config.ts';
import type { Schema } from '../core/schema.ts';
import { createStore } from '../core/store.ts';
import type { MatrixSession, Transport } from '../core/transport.ts';
import type { AnyEvent } from '../core/wire.ts';
import { type AgActionOptions, createActionRegistry } from './action-registry.ts';
import type { IChatOptions, UIComponents } from './ui-components.ts';
import { useLatest } from './use-load.ts';

export interface Wallet {
  address: string;
  did: string;
  matrix: MatrixSession;
}

/** Signs and broadcasts chain transactions. */
export type TransactSignX = (messages: ChainMessage[], memo?: string) => Promise<unknown>;

export type AnswerApproval = (approved: boolean, reason?: string) => Promise<unknown>;

export interface OraclesContextValue extends ReturnType<typeof createShared> {
  wallet: Wallet;
  transactSignX: TransactSignX;
  credentials: CredentialCache;
  gatewayUrl: string | undefined;
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
}

export function createShared() {
  return {
    actions: createActionRegistry(),
    components: createStore<readonly UIComponents[]>([]),
    /** Counts finished turns: what lists of sessions show of them has changed. */
    turns: createStore(0),
    agents: createStore<readonly string[]>([]),
    events: new Set<(event: AnyEvent, sessionId: string) => void>(),
    findChat: createSharedChats(),
    chats: new Set<Chat>(),
    answers: new Map<string, AnswerApproval>(),
    executing: createStore<ReadonlySet<string>>(new Set()),
  };
}

export const OraclesContext = createContext<OraclesContextValue | null>(null);

export function useOraclesContext(): OraclesContextValue {
  const context = useContext(OraclesContext);
  if (!context) throw new Error('useOraclesContext must be used within a OraclesProvider');
  return context;
}

/** Calls back with every event of the chats on the page, distinguished by `eventName`. */
export function useOracleEvents(onEvent: (event: AnyEvent, sessionId: string) => void): void {
  const { events } = useOraclesContext();
  const latest = useLatest(onEvent);
  useEffect(() => {
    const listener = (event: AnyEvent, sessionId: string) => latest.current(event, sessionId);
    events.add(listener);
    return () => void events.delete(listener);
  }, [events, latest]);
}

/** Registers an action the agent can call for as long as the component is on the page. */
export function useAgAction<S extends Schema>(options: AgActionOptions<S>): void {
  const { actions } = useOraclesContext();
  const latest = useLatest(options as unknown as AgActionOptions);
  const { name, render } = options;
  useEffect(() => actions.add(name, latest), [actions, name, latest]);
  // What is drawn closes over the state of this component: a new closure is a new picture.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new `render` is the reason, not an input.
  useEffect(() => actions.touch(), [actions, render]);
}

interface ChatView {
  readonly current: Omit<IChatOptions, 'oracleDid' | 'sessionId'> & { matrix: MatrixSession };
}

interface SharedChat {
  readonly chat: Chat;
  join(view: ChatView): () => void;
}

/** Gives the one chat of an agent and a session, however many components show it: one socket, one set of tools. */
function createSharedChats() {
  const known = new Map<string, SharedChat>();
  return (key: string, create: (views: () => readonly ChatView['current'][]) => Chat): SharedChat => {
    const found = known.get(key);
    if (found) return found;
    const views = new Set<ChatView>();
    let stop: (() => void) | undefined;
    const shared: SharedChat = {
      chat: create(() => [...views].map(({ current }) => current)),
      join(view) {
        known.set(key, shared);
        views.add(view);
        stop ??= shared.chat.start();
        return () => {
          views.delete(view);
          if (views.size > 0) return;
          stop?.();
          stop = undefined;
          known.delete(key);
        };
      },
    };
    known.set(key, shared);
    return shared;
  };
}
