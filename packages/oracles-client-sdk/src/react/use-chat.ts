'use client';

import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { createChat } from '../core/chat.ts';
import type { ChatSnapshot, SendOptions } from '../core/chat-interface.ts';
import { type ChatStatus, initialChatState, toChatStatus } from '../core/chat-state.ts';
import type { BrowserTools } from '../core/client-tools.ts';
import type { StreamingMode } from '../core/event-buffer.ts';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { Schema } from '../core/schema.ts';
import type { AnyEvent } from '../core/wire.ts';
import { type IMessage, toIMessage } from './message-content.ts';
import { type UIComponents, useOraclesContext } from './oracles-context.ts';
import { useAgent } from './use-agent.ts';
import { useLatest } from './use-latest.ts';

export interface IChatOptions<Schemas extends Record<string, Schema> = Record<string, Schema>> {
  oracleDid: string;
  sessionId: string;
  onPaymentRequiredError: (claimIds: string[]) => void;
  browserTools?: BrowserTools<Schemas> | undefined;
  uiComponents?: UIComponents | undefined;
  overrides?: ConfigOverrides | undefined;
  streamingMode?: StreamingMode | undefined;
  /** Called with every event of the session, `router_update` included. */
  onEvent?: ((event: AnyEvent) => void) | undefined;
  /** Called when an answer has ended without a failure. */
  onFinish?: ((message: IMessage) => void) | undefined;
  /** Called when a message or its answer fails. */
  onError?: ((error: Error) => void) | undefined;
}

export interface UseChatResult {
  messages: IMessage[];
  /** Resolves when the answer has ended; a failure is in `sendMessageError`. */
  sendMessage: (message: string, options?: SendOptions) => Promise<void>;
  abortStream: () => Promise<void>;
  status: ChatStatus;
  /** While submitting or streaming. */
  isSending: boolean;
  /** While the history is fetched for the first time. */
  isLoading: boolean;
  error: Error | undefined;
  sendMessageError: Error | undefined;
  refetchMessages: () => Promise<IMessage[]>;
  isRealTimeConnected: boolean;
  isConfigReady: boolean;
  /** Sends the message that failed once more. */
  retry: () => void;
  /** Whether there are older messages than those shown. */
  hasMore: boolean;
  loadMore: () => Promise<void>;
}

const idle: ChatSnapshot = { ...initialChatState, isRealTimeConnected: false };
const getIdle = () => idle;
const subscribeNever = () => () => {};
const notReady = () => new Error('The agent is not ready yet.');

/** The thread of a session: its messages, the answer as it is written, and the ways to take part. */
export function useChat<Schemas extends Record<string, Schema>>(options: IChatOptions<Schemas>): UseChatResult {
  const { oracleDid, sessionId, uiComponents } = options;
  const { wallet, actions, components, executing, turns, events, findChat } = useOraclesContext();
  const { agent, error: configError } = useAgent(oracleDid, options.overrides);
  const latest = useLatest({ ...options, browserTools: options.browserTools as BrowserTools, matrix: wallet.matrix });
  const [earlyError, setEarlyError] = useState<Error>();

  const shared = useMemo(() => {
    if (!agent || !sessionId) return undefined;
    const { transport, config } = agent;
    return findChat(JSON.stringify([agent.key, config.socketUrl, sessionId]), (views) =>
      createChat({
        transport,
        sessionId,
        socketUrl: config.socketUrl,
        get streamingMode() {
          return views().find(({ streamingMode }) => streamingMode)?.streamingMode;
        },
        get matrix() {
          return views()[0]?.matrix;
        },
        clientTools: () => ({
          browserTools: Object.assign({}, ...views().map(({ browserTools }) => browserTools)),
          actions: actions.toClientActions(),
        }),
        onPaymentRequired(claimIds) {
          for (const { onPaymentRequiredError } of views()) onPaymentRequiredError?.(claimIds);
        },
        onFinish(message) {
          for (const { onFinish } of views()) onFinish?.(toIMessage(message));
        },
        onError(error) {
          for (const { onError } of views()) onError?.(error);
        },
        onEvent(event) {
          for (const { onEvent } of views()) onEvent?.(event);
          for (const listener of [...events]) listener(event, sessionId);
        },
        onClientCall(toolCallId, isRunning) {
          const calls = new Set(executing.get());
          if (isRunning) calls.add(toolCallId);
          else calls.delete(toolCallId);
          executing.set(calls);
        },
      }),
    );
  }, [agent, sessionId, actions, events, executing, findChat]);
  const chat = shared?.chat;
  useEffect(() => shared?.join(latest), [shared, latest]);

  useEffect(() => {
    if (!uiComponents) return;
    components.set([...components.get(), uiComponents]);
    return () => components.set(components.get().filter((other) => other !== uiComponents));
  }, [components, uiComponents]);

  const state = useSyncExternalStore(chat?.subscribe ?? subscribeNever, chat?.get ?? getIdle, getIdle);
  const status = toChatStatus(state);
  const isSending = status === 'submitted' || status === 'streaming';
  useEffect(() => {
    if (isSending) return () => turns.set(turns.get() + 1);
  }, [isSending, turns]);

  return {
    messages: useMemo(() => state.messages.map(toIMessage), [state.messages]),
    status,
    isSending,
    isLoading: state.isLoading && sessionId !== '' && !configError,
    error: configError ?? state.loadError,
    sendMessageError: state.sendError ?? (chat ? undefined : earlyError),
    isRealTimeConnected: state.isRealTimeConnected,
    isConfigReady: agent !== undefined,
    hasMore: state.olderCursor !== null,
    sendMessage: useCallback(
      async (message, extra) => {
        if (chat) await chat.send(message, extra);
        else setEarlyError(notReady());
      },
      [chat],
    ),
    retry: useCallback(() => void chat?.retry(), [chat]),
    abortStream: useCallback(async () => chat?.abort(), [chat]),
    refetchMessages: useCallback(async () => ((await chat?.refetch()) ?? []).map(toIMessage), [chat]),
    loadMore: useCallback(async () => chat?.loadOlder(), [chat]),
  };
}
