'use client';

import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import type { AgentTypes } from '../core/agent-types.ts';
import { createChat } from '../core/chat.ts';
import type { Chat, ChatSnapshot, SendOptions } from '../core/chat-interface.ts';
import { type ChatStatus, initialChatState, toChatStatus } from '../core/chat-state.ts';
import type { BrowserTools } from '../core/client-tools.ts';
import { OracleError } from '../core/oracle-error.ts';
import type { Schema } from '../core/schema.ts';
import type { OutgoingFile, UploadOptions } from '../core/upload-files.ts';
import type { Approval, Attachment, GrantedCapability } from '../core/wire.ts';
import { fromIMessage, type IMessage, toIMessage } from './message-content.ts';
import { type ChatRunState, toRunState } from './older-names.ts';
import { useOraclesContext } from './oracles-context.ts';
import type { IChatOptions } from './ui-components.ts';
import { notReady, useAgent } from './use-agent.ts';
import { useLatest } from './use-load.ts';

export interface UseChatResult<Agent extends AgentTypes = AgentTypes> {
  messages: IMessage<Agent>[];
  /** Resolves when the answer has ended; a failure is in `sendMessageError`. */
  sendMessage: SendMessage;
  abortStream: () => Promise<void>;
  status: ChatStatus;
  isSending: boolean;
  /** While the history is fetched for the first time. */
  isLoading: boolean;
  error: OracleError | undefined;
  sendMessageError: OracleError | undefined;
  pendingApprovals: Approval[];
  /** Lets a tool run, or not; the agent reads the reason. */
  answerApproval: (approvalId: string, approved: boolean, reason?: string) => Promise<void>;
  /** Signs a delegation of one capability and stores it at the agent: what a `ReauthorizePrompt` asks for. Ask the user first. */
  grant: (capability: GrantedCapability) => Promise<void>;
  /** Asks for another answer: to the question of this message, or to the last one. */
  regenerate: (messageId?: string) => Promise<void>;
  /** Sends other words in place of a question; what came after it leaves the conversation. */
  editMessage: (messageId: string, text: string, options?: SendOptions) => Promise<void>;
  /** Changes what the page shows, and nothing at the service: the next load of the history joins both. */
  setMessages: (change: IMessage<Agent>[] | ((messages: IMessage<Agent>[]) => IMessage<Agent>[])) => void;
  /** Stores a file at the agent, to go along with a message later. `sendMessage` takes files of the device too. */
  uploadFile: (file: Blob, options?: UploadOptions) => Promise<Attachment>;
  /** A file that went along with a message, by its `fileId`. */
  downloadFile: (fileId: string) => Promise<Blob>;
  /** Nobody has signed in: there is no wallet, it declined to sign, or the agent refuses what it signed. */
  isSignedOut: boolean;
  refetchMessages: () => Promise<IMessage<Agent>[]>;
  isRealTimeConnected: boolean;
  isConfigReady: boolean;
  /** Sends the message that failed once more, or loads what could not be loaded. */
  retry: () => void;
  hasMore: boolean;
  loadMore: () => Promise<void>;
  /** @deprecated Use `hasMore`. */
  hasEarlier: boolean;
  /** @deprecated Use `loadMore`. */
  loadEarlier: () => Promise<void>;
  /** @deprecated Await `loadMore`. */
  isLoadingEarlier: boolean;
  /** @deprecated Use `status`, and `status` of the last message. */
  run: ChatRunState;
}

interface SendMessage {
  (message: string, options?: SendOptions): Promise<void>;
  /** @deprecated Use `sendMessage(message, { metadata, attachments })`. */
  (message: string, metadata?: Record<string, unknown>, attachments?: OutgoingFile[]): Promise<void>;
}

const idle: ChatSnapshot = { ...initialChatState, isRealTimeConnected: false };
const getIdle = () => idle;
const subscribeNever = () => () => {};
const signedOut = () => new OracleError('Nobody has signed in.', { code: 'NOT_SIGNED', status: 401 });
const isRefused = (error: OracleError | undefined) => error?.status === 401 || error?.code === 'NOT_SIGNED';

/**
 * The thread of a session: its messages, the answer as it is written, and the ways to take part. `useChat<InferAgent<typeof app>>`
 * knows the tools and components of that agent.
 */
export function useChat<
  Agent extends AgentTypes = AgentTypes,
  Schemas extends Record<string, Schema> = Record<string, Schema>,
>(options: IChatOptions<Schemas, Agent>): UseChatResult<Agent>;
export function useChat(options: IChatOptions): UseChatResult {
  const { oracleDid, sessionId, uiComponents } = options;
  const { wallet, actions, components, executing, turns, events, answers, findChat, chats } = useOraclesContext();
  const { agent, error: configError, refetch: findAgent } = useAgent(oracleDid, options.overrides);
  const latest = useLatest({
    ...options,
    browserTools: options.browserTools as BrowserTools,
    matrix: wallet.matrix,
    userDid: wallet.did,
  });
  const [earlyError, setEarlyError] = useState<OracleError>();

  const shared = useMemo(() => {
    if (!agent || !sessionId) return undefined;
    const { transport, config } = agent;
    return findChat(JSON.stringify([agent.key, config.socketUrl, sessionId]), (views) => {
      const made = createChat({
        transport,
        sessionId,
        socketUrl: config.socketUrl,
        get streamingMode() {
          return views().find(({ streamingMode }) => streamingMode)?.streamingMode;
        },
        get streamingThrottleMs() {
          return views().find(({ streamingThrottleMs }) => streamingThrottleMs)?.streamingThrottleMs;
        },
        get pageSize() {
          return views().find(({ historyPageSize }) => historyPageSize)?.historyPageSize;
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
          if (event.eventName === 'approval_request') {
            const { approvalId, status } = event.payload;
            if (status !== 'pending') answers.delete(approvalId);
            else answers.set(approvalId, (approved, reason) => made.answerApproval(approvalId, { approved, reason }));
          }
          for (const { onEvent } of views()) onEvent?.(event);
          for (const listener of [...events]) listener(event, sessionId);
        },
        onClientCall(toolCallId, isRunning) {
          const calls = new Set(executing.get());
          if (isRunning) calls.add(toolCallId);
          else calls.delete(toolCallId);
          executing.set(calls);
        },
      });
      return made;
    });
  }, [agent, sessionId, actions, answers, events, executing, findChat]);
  const chat = shared?.chat;
  useEffect(() => shared?.join(latest), [shared, latest]);
  useEffect(() => {
    if (!chat) return;
    chats.add(chat);
    return () => void chats.delete(chat);
  }, [chats, chat]);

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

  const messages = useMemo(() => state.messages.map(toIMessage), [state.messages]);
  const [isLoadingEarlier, setLoadingEarlier] = useState(false);
  const loadMore = useCallback(async () => {
    setLoadingEarlier(true);
    await chat?.loadOlder().finally(() => setLoadingEarlier(false));
  }, [chat]);

  const act = useCallback(
    async <T>(work: (ready: Chat) => Promise<T>): Promise<T> => {
      if (chat) return work(chat);
      throw wallet.did ? notReady() : signedOut();
    },
    [chat, wallet.did],
  );
  return {
    messages,
    status,
    isSignedOut: !wallet.did || isRefused(state.loadError) || isRefused(state.sendError),
    isSending,
    isLoading: state.isLoading && sessionId !== '' && !configError && wallet.did !== '',
    error: configError ?? state.loadError,
    sendMessageError: state.sendError ?? (chat ? undefined : earlyError),
    isRealTimeConnected: state.isRealTimeConnected,
    isConfigReady: agent !== undefined,
    hasMore: state.olderCursor !== null,
    sendMessage: useCallback(
      async (message: string, extra?: SendOptions | Record<string, unknown>, attachments?: OutgoingFile[]) => {
        const { model } = latest.current;
        if (chat) await chat.send(message, { ...(model && { model }), ...toSendOptions(extra, attachments) });
        else setEarlyError(latest.current.userDid ? notReady() : signedOut());
      },
      [chat, latest],
    ),
    pendingApprovals: useMemo(
      () => messages.flatMap(({ approvals = [] }) => approvals.filter(({ status }) => status === 'pending')),
      [messages],
    ),
    answerApproval: useCallback(
      async (approvalId, approved, reason) => void (await chat?.answerApproval(approvalId, { approved, reason })),
      [chat],
    ),
    grant: useCallback((capability) => act((ready) => ready.grant(capability)), [act]),
    regenerate: useCallback((messageId) => act((ready) => ready.regenerate(messageId)), [act]),
    editMessage: useCallback((messageId, text, extra) => act((ready) => ready.edit(messageId, text, extra)), [act]),
    downloadFile: useCallback((fileId) => act((ready) => ready.download(fileId)), [act]),
    uploadFile: useCallback((file, extra) => act((ready) => ready.upload(file, extra)), [act]),
    setMessages: useCallback(
      (change) => {
        const next = typeof change === 'function' ? change((chat?.get().messages ?? []).map(toIMessage)) : change;
        chat?.setMessages(next.map(fromIMessage));
      },
      [chat],
    ),
    retry: useCallback(() => {
      const again = chat ? (chat.get().sendError ? chat.retry() : chat.refetch()) : findAgent();
      again.catch(() => {});
    }, [chat, findAgent]),
    abortStream: useCallback(async () => chat?.abort(), [chat]),
    refetchMessages: useCallback(async () => ((await chat?.refetch()) ?? []).map(toIMessage), [chat]),
    loadMore,
    hasEarlier: state.olderCursor !== null,
    loadEarlier: loadMore,
    isLoadingEarlier,
    run: useMemo(() => toRunState(messages), [messages]),
  };
}

const optionNames = new Set(['model', 'attachments', 'mcpInvocations', 'metadata', 'replaces']);

/** The older library takes metadata and attachments one after the other. */
function toSendOptions(extra: SendOptions | Record<string, unknown> = {}, attachments?: OutgoingFile[]): SendOptions {
  if (!attachments && Object.keys(extra).every((name) => optionNames.has(name))) return extra as SendOptions;
  return { metadata: extra as Record<string, unknown>, ...(attachments && { attachments }) };
}
