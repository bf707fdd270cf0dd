import { agentLimits, type Message } from '@palaver/contract';
import { reauthorizeComponentName } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import type { Signer } from '@palaver/ucan';
import type { AgentConfig } from '../config.ts';
import type { Models } from '../models/create-models.ts';
import { findLoadedCapabilities } from '../plugins/capabilities.ts';
import type { PluginHost } from '../plugins/start-plugins.ts';
import type { Execute } from '../run/carry-out-run.ts';
import type { SessionClients } from '../run/session-clients.ts';
import type { DelegationStore } from '../store/delegations.ts';
import { type MessageStore, toShown } from '../store/messages.ts';
import type { OracleIdentity } from '../store/sessions.ts';
import type { SummaryStore } from '../store/summaries.ts';
import type { AgentBehaviour } from './agent-behaviour.ts';
import type { BrowserCalls } from './browser-calls.ts';
import { createRuntimeContext, type RuntimeContextParts, toReauthorizePrompt } from './create-runtime-context.ts';
import { loadHistory } from './load-history.ts';
import { runTurn } from './run-turn.ts';
import { resolveServiceDid } from './service-did.ts';

export interface ExecutorParts {
  config: Pick<AgentConfig, 'LLM_TIMEOUT_MS' | 'LLM_CONTEXT_TOKENS'>;
  oracle: OracleIdentity;
  plugins: PluginHost;
  models: Models;
  behaviour?: AgentBehaviour;
  messages: MessageStore;
  summaries: SummaryStore;
  signer: Signer;
  browserCalls: BrowserCalls;
  clients: Pick<SessionClients, 'notify' | 'dropDelegation'>;
  delegations: RuntimeContextParts['delegations'] & Pick<DelegationStore, 'findUsable'>;
  logger: Logger;
}

/** How this deployment does a turn: with its models, its plugins and what the session has said before. */
export function createExecutor(parts: ExecutorParts): Execute {
  const askedAt = new Map<string, number>();
  const hasAskedLately = (sessionId: string, history: Message[]) => {
    const now = Date.now();
    for (const [id, at] of askedAt) if (now - at > agentLimits.reauthorizePromptIntervalMs) askedAt.delete(id);
    // The history covers other instances and earlier processes, the map this turn and what was summarised.
    return askedAt.has(sessionId) || history.some((message) => hasAsked(message, now));
  };

  return async ({ turn, run, steps, hold }) => {
    const { history, summary, capabilities } = await loadHistory(
      {
        messages: parts.messages,
        summaries: parts.summaries,
        model: parts.models.get('utility'),
        contextTokens: parts.config.LLM_CONTEXT_TOKENS,
        timeoutMs: parts.config.LLM_TIMEOUT_MS,
        logger: parts.logger,
      },
      run,
    );
    hold(history);
    const hasAskedBefore = () => hasAskedLately(run.sessionId, [...history, run.draft('failed')]);
    const mayAskAgain = () => {
      if (hasAskedBefore()) return false;
      askedAt.set(run.sessionId, Date.now());
      return true;
    };
    const delegations = await parts.delegations.findUsable(turn.user.did);
    const rt = await createRuntimeContext({
      ...parts,
      turn,
      run,
      history: history.map(toShown),
      // A resumed run has loaded its own before.
      capabilities: [...capabilities, ...findLoadedCapabilities([run.draft('failed')])],
      mayAskAgain,
      resolveServiceDid,
      stored: delegations.usable,
    });
    const expired = rt.user.delegation === undefined ? delegations.expired : undefined;
    const outcome = await runTurn({
      oracleName: parts.oracle.name,
      plugins: parts.plugins.loaded,
      model: parts.models.choose(turn.model),
      rt,
      run,
      history,
      turn,
      notes: [
        ...(expired && !hasAskedBefore() ? [expiredNote] : []),
        ...(summary ? [`Earlier in this conversation: ${summary}`] : []),
      ],
      idleMs: parts.config.LLM_TIMEOUT_MS,
      behaviour: parts.behaviour ?? {},
      resolveModel: parts.models.resolve,
      steps,
    });
    // After the tools: what one of them has asked for is more precise.
    const [capability] = expired?.capabilities ?? [];
    if (outcome === 'answered' && capability && mayAskAgain())
      run.emit('render_component', toReauthorizePrompt(run, capability));
    return outcome;
  };
}

const expiredNote =
  "The user's authorisation of this agent has expired. Say so in one sentence at the end of the answer, and ask them to authorise it again.";

function hasAsked({ createdAt, components = [] }: Message, now: number): boolean {
  const isRecent = now - Date.parse(createdAt) <= agentLimits.reauthorizePromptIntervalMs;
  return isRecent && components.some(({ componentName }) => componentName === reauthorizeComponentName);
}
