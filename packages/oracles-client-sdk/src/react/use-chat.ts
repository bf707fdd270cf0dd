'use client';

import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import type { AgentTypes } from '../core/agent-types.ts';
import { type Chat, createChat } from '../core/chat.ts';
import type { ChatSnapshot, SendOptions } from '../core/chat-interface.ts';
import { initialChatState, toChatStatus } from '../core/chat-state.ts';
import type { BrowserTools } from '../core/client-tools.ts';
import { OracleError } from '../core/oracle-error.ts';
import type { Schema } from '../core/schema.ts';
import type { OutgoingFile, UploadOptions } from '../core/upload-files.ts';
import type { GrantedCapability } from '../core/wire.ts';
import { fromIMessage, type IMessage, toIMessage } from './message-content.ts';
import { toRunState } from './older-names.ts';
import { useOraclesContext } from './oracles-context.ts';
import type { IChatOptions } from './ui-components.ts';
import { notReady, useAgent } from './use-agent.ts';
import { useLatest } from './use-load.ts';

type OpenChat = ReturnType<typeof useOpenChat>;

export interface UseChatResult<Agent extends AgentTypes = AgentTypes>
  extends Omit<OpenChat, 'messages' | 'setMessages' | 'refetchMessages'> {
  messages: IMessage<Agent>[];
  /** Changes what the page shows, and nothing at the service: the next load of the history joins both. */
  setMessages: (change: IMessage<Agent>[] | ((messages: IMessage<Agent>[]) => IMessage<Agent>[])) => void;
  refetchMessages: () => Promise<IMessage<Agent>[]>;
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

/** The thread of a session. `useChat<InferAgent<typeof app>>` knows the tools and components of that agent. */
export function useChat<
  Agent extends AgentTypes = AgentTypes,
  Schemas extends Record<string, Schema> = Record<string, Schema>,
>(options: IChatOptions<Schemas, Agent>): UseChatResult<Agent> {
  return useOpenChat(options as unknown as IChatOptions) as unknown as UseChatResult<Agent>;
}

function useOpenChat(options: IChatOptions) {
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

  const commands = useMemo(() => {
    const act = async <T>(work: (ready: Chat) => Promise<T>): Promise<T> => {
      if (chat) return work(chat);
      throw wallet.did ? notReady() : signedOut();
    };
    const sendMessage: SendMessage = async (message: string, extra?: Extra, attachments?: OutgoingFile[]) => {
      const { model } = latest.current;
      if (chat) await chat.send(message, { ...(model && { model }), ...toSendOptions(extra, attachments) });
      else setEarlyError(latest.current.userDid ? notReady() : signedOut());
    };
    return {
      /** Resolves when the answer has ended; a failure is in `sendMessageError`. */
      sendMessage,
      abortStream: async () => chat?.abort(),
      /** Lets a tool run, or not; the agent reads the reason. */
      answerApproval: async (approvalId: string, approved: boolean, reason?: string) =>
        void (await chat?.answerApproval(approvalId, { approved, reason })),
      /** Signs a delegation of one capability and stores it at the agent: what a `ReauthorizePrompt` asks for. Ask the user first. */
      grant: (capability: GrantedCapability) => act((ready) => ready.grant(capability)),
      /** Asks for another answer: to the question of this message, or to the last one. */
      regenerate: (messageId?: string) => act((ready) => ready.regenerate(messageId)),
      /** Sends other words in place of a question; what came after it leaves the conversation. */
      editMessage: (messageId: string, text: string, extra?: SendOptions) =>
        act((ready) => ready.edit(messageId, text, extra)),
      setMessages(change: IMessage[] | ((messages: IMessage[]) => IMessage[])): void {
        const next = typeof change === 'function' ? change((chat?.get().messages ?? []).map(toIMessage)) : change;
        chat?.setMessages(next.map(fromIMessage));
      },
      /** Stores a file at the agent, to go along with a message later. `sendMessage` takes files of the device too. */
      uploadFile: (file: Blob, extra?: UploadOptions) => act((ready) => ready.upload(file, extra)),
      /** A file that went along with a message, by its `fileId`. */
      downloadFile: (fileId: string) => act((ready) => ready.download(fileId)),
      refetchMessages: async () => ((await chat?.refetch()) ?? []).map(toIMessage),
      /** Sends the message that failed once more, or loads what could not be loaded. */
      retry(): void {
        const again = chat ? (chat.get().sendError ? chat.retry() : chat.refetch()) : findAgent();
        again.catch(() => {});
      },
      async loadMore(): Promise<void> {
        setLoadingEarlier(true);
        await chat?.loadOlder().finally(() => setLoadingEarlier(false));
      },
    };
  }, [chat, wallet.did, latest, findAgent]);
  return {
    ...commands,
    messages,
    status,
    isSending,
    /** While the history is fetched for the first time. */
    isLoading: state.isLoading && sessionId !== '' && !configError && wallet.did !== '',
    error: configError ?? state.loadError,
    sendMessageError: state.sendError ?? (chat ? undefined : earlyError),
    pendingApprovals: useMemo(
      () => messages.flatMap(({ approvals = [] }) => approvals.filter(({ status }) => status === 'pending')),
      [messages],
    ),
    /** Nobody has signed in: there is no wallet, it declined to sign, or the agent refuses what it signed. */
    isSignedOut: !wallet.did || isRefused(state.loadError) || isRefused(state.sendError),
    isRealTimeConnected: state.isRealTimeConnected,
    isConfigReady: agent !== undefined,
    hasMore: state.olderCursor !== null,
    /** @deprecated Use `hasMore`. */
    hasEarlier: state.olderCursor !== null,
    /** @deprecated Use `loadMore`. */
    loadEarlier: commands.loadMore,
    /** @deprecated Await `loadMore`. */
    isLoadingEarlier,
    /** @deprecated Use `status`, and `status` of the last message. */
    run: useMemo(() => toRunState(messages), [messages]),
  };
}

type Extra = SendOptions | Record<string, unknown>;

const optionNames = new Set(['model', 'attachments', 'mcpInvocations', 'metadata', 'replaces']);

/** The older library takes metadata and attachments one after the other. */
function toSendOptions(extra: Extra = {}, attachments?: OutgoingFile[]): SendOptions {
  if (!attachments && Object.keys(extra).every((name) => optionNames.has(name))) return extra as SendOptions;
  return { metadata: extra as Record<string, unknown>, ...(attachments && { attachments }) };
}
