import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Logger } from '@palaver/service-kit';
import { estimateTokens } from '../models/estimate-tokens.ts';
import { type Summarised, summarise } from '../models/summarise.ts';
import { findLoadedCapabilities } from '../plugins/capabilities.ts';
import type { Run } from '../run/run.ts';
import { isAbortedByUser } from '../run/stream-error.ts';
import type { Usage } from '../run/turn.ts';
import type { MessageStore, StoredMessage } from '../store/messages.ts';
import type { HistorySummary, SummaryStore } from '../store/summaries.ts';
import { limitFiles, maxHistoryMessages, splitHistory, toTranscript } from './history.ts';

export interface HistoryParts {
  messages: Pick<MessageStore, 'before'>;
  summaries: SummaryStore;
  /** The utility model. */
  model: LanguageModelV4;
  /** How much of the conversation the model is given. */
  contextTokens: number;
  timeoutMs: number;
  logger: Logger;
}

export interface LoadedHistory {
  /** What the model is given word for word, oldest first. */
  history: StoredMessage[];
  /** The summary of the rest. */
  summary: string | undefined;
  /** On-demand plugins loaded in the part that was summarised. */
  capabilities: string[];
}

const summaryCharacters = 8_000;

/**
 * What was said in a session before this run, kept within the model's context: once it no longer fits, the older part is
 * summarised, and the summary is stored and replaces it from then on.
 */
export async function loadHistory(parts: HistoryParts, run: Run): Promise<LoadedHistory> {
  // Twice as many as are kept: what is beyond was said faster than it could be summarised, and is left out.
  const before = await parts.messages.before(run.sessionId, run.runId, 2 * maxHistoryMessages);
  const said = limitFiles(before.messages, parts.contextTokens);
  const earlier = before.isWhole ? undefined : await parts.summaries.find(run.sessionId);
  const { old, kept } = splitHistory(said, parts.contextTokens);
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
  { model, contextTokens, timeoutMs }: HistoryParts,
  { old, earlier, run }: { old: StoredMessage[]; earlier: string | undefined; run: Run },
): Promise<string> {
  const addUsage = (usage: Usage) => run.addUsage({ [model.modelId]: usage });
  let summary = earlier;
  for (const transcript of toTranscript(old, contextTokens)) {
    const limit = AbortSignal.any([run.signal, AbortSignal.timeout(timeoutMs)]);
    const sent = estimateTokens(transcript);
    run.signal.throwIfAborted();
    const { text, usage }: Summarised = await summarise({ model, earlier: summary, transcript, signal: limit }).catch(
      (error) => {
        if (isAbortedByUser(run.signal)) addUsage({ inputTokens: sent, outputTokens: 0 });
        throw error;
      },
    );
    addUsage({
      inputTokens: usage.inputTokens ?? sent,
      outputTokens: usage.outputTokens ?? estimateTokens(text),
    });
    summary = text.slice(0, summaryCharacters);
  }
  return summary ?? '';
}

function toLoaded(history: StoredMessage[], summary: HistorySummary | undefined): LoadedHistory {
  return { history, summary: summary?.text, capabilities: summary?.capabilities ?? [] };
}
