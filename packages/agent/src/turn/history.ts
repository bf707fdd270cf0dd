import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Message, ToolCall } from '@palaver/contract';
import type { MessageAttachment } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import type { AgentConfig } from '../config.ts';
import type { EarlierMessage } from '../define/agent-run.ts';
import { estimateTokens, type Models, summarise } from '../models/create-models.ts';
import type { Usage } from '../runs/input.ts';
import { isAbortedByUser, type Run } from '../runs/run.ts';
import { type KeptFile, type StoredMessage, toParts } from '../store/message.ts';
import type { HistorySummary, MessageStore, SummaryStore } from '../store/messages.ts';
import { findLoadedCapabilities } from './plugins.ts';

const maxToolOutput = 4_000;

export const maxHistoryMessages = 200;
const transcriptMessageCharacters = 4_000;
// The rest is for the instruction and the earlier summary.
const transcriptShare = 0.75;
// Less than the half that is filled after a summary, so that files leave room for what was said.
const filesShare = 0.25;

/** Leaves out the texts of files that do not fit their share of the context; the newest have precedence. */
export function limitFiles(messages: StoredMessage[], contextTokens: number): StoredMessage[] {
  let tokensLeft = contextTokens * filesShare;
  const limited = messages.toReversed().map((message) => {
    const files = message.files?.map((file) => {
      const size = estimateTokens(file.text ?? '');
      if (size > tokensLeft) return { name: file.name };
      tokensLeft -= size;
      return file;
    });
    return files ? { ...message, files } : message;
  });
  return limited.reverse();
}

/** Parts a conversation before a question. Once not all fits, half the room is filled, so that the next turns need no summary. */
export function splitHistory(messages: StoredMessage[], contextTokens: number) {
  const sizes = messages.map((message) => estimateTokens(toPromptHistory([message])));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= contextTokens && messages.length <= maxHistoryMessages) return { old: [], kept: messages };
  let cut = messages.length;
  let size = 0;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    size += sizes[index] ?? 0;
    if (size > contextTokens / 2 || messages.length - index > maxHistoryMessages / 2) break;
    const message = messages[index];
    // A message without text contains results of calls in the answer before it.
    if (message?.type === 'human' && message.content !== '') cut = index;
  }
  return { old: messages.slice(0, cut), kept: messages.slice(cut) };
}

export function toTranscript(messages: StoredMessage[], contextTokens: number): string[] {
  const pieces = [''];
  let tokens = 0;
  for (const message of messages) {
    const words = shorten(message.content + toFileNotes(message));
    const line = `${message.type === 'human' ? 'User' : 'Assistant'}: ${words}${toToolNote(message)}\n`;
    const last = pieces.length - 1;
    tokens += estimateTokens(line);
    if (tokens <= contextTokens * transcriptShare || pieces[last] === '') pieces[last] += line;
    else {
      pieces.push(line);
      tokens = estimateTokens(line);
    }
  }
  return pieces;
}

function shorten(text: string): string {
  if (text.length <= transcriptMessageCharacters) return text;
  const half = transcriptMessageCharacters / 2;
  return `${text.slice(0, half)} … ${text.slice(-half)}`;
}

function toToolNote({ toolCalls = [] }: Message): string {
  const names = [...new Set(toolCalls.map(({ name }) => name))];
  return names.length === 0 ? '' : ` (used ${names.join(', ')})`;
}

/** The earlier messages as the model reads them, with tool calls and without failed answers. */
export function toPromptHistory(messages: StoredMessage[]): LanguageModelV4Prompt {
  return messages.flatMap((message) => {
    if (message.type === 'ai') return toAnswer(message);
    const text = message.content + toFileNotes(message);
    return toAsked(message, text === '' ? [] : [toUserMessage(text)]);
  });
}

/** The earlier messages and tool results that a caller sent with a question, and the question. */
export function toAsked(
  { earlier = [], toolCalls = [] }: Pick<StoredMessage, 'earlier' | 'toolCalls'>,
  question: LanguageModelV4Prompt,
  limit = maxToolOutput,
): LanguageModelV4Prompt {
  const before = earlier.flatMap((message) =>
    message.type === 'human' ? [toUserMessage(message.content)] : toAnswer(message, limit),
  );
  const results = toolCalls.map((call) => toResult(call, limit));
  return joinUserMessages([
    ...before,
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ...question,
  ]);
}

function joinUserMessages(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const joined: LanguageModelV4Prompt = [];
  for (const message of prompt) {
    const last = joined.at(-1);
    if (last?.role !== 'user' || message.role !== 'user') joined.push(message);
    else last.content.push({ type: 'text', text: '\n\n' }, ...message.content);
  }
  return joined;
}

/** Gives every call one result: providers refuse a conversation with calls without results, or results without calls. */
export function completeCalls(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.flatMap((message, index): LanguageModelV4Prompt => {
    if (message.role === 'tool') return [];
    if (message.role !== 'assistant') return [message];
    const calls = message.content.filter((part) => part.type === 'tool-call');
    if (calls.length === 0) return [message];
    const given = new Map<string, ToolResult>();
    for (const part of resultsAfter(prompt, index)) if (!given.has(part.toolCallId)) given.set(part.toolCallId, part);
    const content = calls.map(({ toolCallId, toolName }) => {
      const output = { type: 'error-text' as const, value: 'The caller gave no result.' };
      return given.get(toolCallId) ?? { type: 'tool-result' as const, toolCallId, toolName, output };
    });
    return [message, { role: 'tool', content }];
  });
}

type ToolResult = Extract<AssistantContent[number], { type: 'tool-result' }>;

function resultsAfter(prompt: LanguageModelV4Prompt, index: number): ToolResult[] {
  const results: ToolResult[] = [];
  for (let at = index + 1; prompt[at]?.role === 'tool'; at += 1) {
    const { content } = prompt[at] as Extract<LanguageModelV4Message, { role: 'tool' }>;
    for (const part of content) if (part.type === 'tool-result') results.push(part);
  }
  return results;
}

/** The texts of files that were kept, and the names of the others: the model should not make up what is in them. */
function toFileNotes({ attachments = [], files = attachments.map(toKept) }: StoredMessage): string {
  const texts = files.map(({ name, text }) => (text === undefined ? '' : toFileText(name, text)));
  const names = files.filter(({ text }) => text === undefined).map(({ name }) => name);
  const note = `\n[Files that came with this message and are not shown again: ${names.join(', ')}]`;
  return texts.join('') + (names.length === 0 ? '' : note);
}

const toKept = ({ filename }: MessageAttachment): KeptFile => ({ name: filename });

export const toFileText = (name: string, text: string): string => `\n\n[File ${name}]\n${text}`;

/** Puts a note where a question has no answer: strict chat templates refuse two messages of the user in a row. */
export function markUnanswered(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.flatMap((message, index) =>
    message.role === 'user' && prompt[index - 1]?.role === 'user' ? [unanswered, message] : [message],
  );
}

const unanswered: LanguageModelV4Message = {
  role: 'assistant',
  content: [{ type: 'text', text: '(No answer: the turn failed or was stopped.)' }],
};

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

export function toUserMessage(text: string): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}

/** In the order of its parts, without the calls of sub-agents: their tools are not the main agent's. */
function toAnswer(message: EarlierMessage & Pick<Message, 'parts' | 'finish'>, limit = maxToolOutput) {
  const prompt: LanguageModelV4Prompt = [];
  let content: AssistantContent = [];
  let results: ReturnType<typeof toResult>[] = [];
  const endStep = () => {
    if (content.length > 0) prompt.push({ role: 'assistant', content });
    if (results.length > 0) prompt.push({ role: 'tool', content: results });
    content = [];
    results = [];
  };
  for (const part of message.parts ?? toParts(message)) {
    if (part.type === 'text' && part.text !== '') {
      if (results.length > 0) endStep();
      content.push({ type: 'text', text: part.text });
    }
    if ((part.type === 'tool_call' || part.type === 'action_call') && part.parentId === undefined) {
      const isOpen = part.status === 'isRunning';
      if (isOpen && message.finish !== 'tool_calls') continue;
      content.push({ type: 'tool-call', toolCallId: part.id, toolName: part.name, input: part.args });
      if (!isOpen) results.push(toResult(part, limit));
    }
  }
  endStep();
  return prompt;
}

export function toResultText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null);
}

function toResult({ id, name, output, error }: ToolCall, limit: number) {
  const value = (error ?? toResultText(output)).slice(0, limit);
  const type: 'text' | 'error-text' = error === undefined ? 'text' : 'error-text';
  return { type: 'tool-result' as const, toolCallId: id, toolName: name, output: { type, value } };
}

export interface HistoryParts {
  messages: Pick<MessageStore, 'before'>;
  summaries: SummaryStore;
  models: Models;
  config: Pick<AgentConfig, 'LLM_TIMEOUT_MS' | 'LLM_CONTEXT_TOKENS'>;
  logger: Logger;
}

const summaryCharacters = 8_000;

/** What was said before this run, kept within the model's context: what no longer fits is summarised and replaced for good. */
export async function loadHistory(parts: HistoryParts, run: Run): Promise<ReturnType<typeof toLoaded>> {
  const contextTokens = parts.config.LLM_CONTEXT_TOKENS;
  // Twice as many as are kept: what is beyond was said faster than it could be summarised, and is left out.
  const before = await parts.messages.before(run.sessionId, run.runId, 2 * maxHistoryMessages);
  const said = limitFiles(before.messages, contextTokens);
  const earlier = before.isWhole ? undefined : await parts.summaries.find(run.sessionId);
  const { old, kept } = splitHistory(said, contextTokens);
  const last = old.at(-1);
  if (!last) return toLoaded(said, earlier);
  const capabilities = [...new Set([...(earlier?.capabilities ?? []), ...findLoadedCapabilities(old)])];
  try {
    const text = await summariseAll(parts, { old, earlier: earlier?.text, run });
    const summary: HistorySummary = { text, upTo: last.id, capabilities };
    await parts.summaries.save(run.sessionId, summary);
    return toLoaded(kept, summary);
  } catch (error) {
    run.signal.throwIfAborted();
    // The turn continues with what fits; the next one tries again.
    parts.logger.warn({ err: error, requestId: run.requestId }, 'a conversation could not be summarised');
    return { history: kept, summary: earlier?.text, capabilities };
  }
}

/** Piece by piece, so that what is summarised fits a model's context as well. */
async function summariseAll(
  { models, config }: HistoryParts,
  { old, earlier, run }: { old: StoredMessage[]; earlier: string | undefined; run: Run },
): Promise<string> {
  const model = models.get('utility');
  const addUsage = (usage: Usage) => run.addUsage({ [model.modelId]: usage });
  let summary = earlier;
  for (const transcript of toTranscript(old, config.LLM_CONTEXT_TOKENS)) {
    const limit = AbortSignal.any([run.signal, AbortSignal.timeout(config.LLM_TIMEOUT_MS)]);
    const sent = estimateTokens(transcript);
    run.signal.throwIfAborted();
    const { text, usage } = await summarise({ model, earlier: summary, transcript, signal: limit }).catch((error) => {
      if (isAbortedByUser(run.signal)) addUsage({ inputTokens: sent, outputTokens: 0 });
      throw error;
    });
    addUsage({ inputTokens: usage.inputTokens ?? sent, outputTokens: usage.outputTokens ?? estimateTokens(text) });
    summary = text.slice(0, summaryCharacters);
  }
  return summary ?? '';
}

function toLoaded(history: StoredMessage[], summary: HistorySummary | undefined) {
  return { history, summary: summary?.text, capabilities: summary?.capabilities ?? [] };
}
