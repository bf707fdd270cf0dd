import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { agentLimits, type Message } from '@palaver/contract';
import { reauthorizeComponentName } from '@palaver/contract/internal';
import { z } from 'zod';
import { type RuntimeContext, ToolError } from '../define/runtime-context.ts';
import type { SubAgent, Tool } from '../define/tool.ts';
import { createDirectModel } from '../models/scripted-model.ts';
import type { OwnerParts, TurnOutcome, Work } from '../runs/owner.ts';
import { type Run, TurnError } from '../runs/run.ts';
import type { RunSteps } from '../runs/steps.ts';
import type { DelegationStore } from '../store/delegations.ts';
import { type StoredMessage, toShown } from '../store/message.ts';
import type { OracleIdentity } from '../store/sessions.ts';
import { type AgentBehaviour, buildSystemPrompt, checkOutput, defaultMaxSteps, toCallOptions } from './behaviour.ts';
import {
  completeCalls,
  type HistoryParts,
  loadHistory,
  markUnanswered,
  toAsked,
  toFileText,
  toPromptHistory,
  toUserMessage,
} from './history.ts';
import type { StepOutput } from './model-step.ts';
import {
  bindTools,
  createTurnMiddlewares,
  findLoadedCapabilities,
  type TurnMiddlewares,
  toBoundTools,
} from './plugins.ts';
import {
  createRuntimeContext,
  type RuntimeContextParts,
  resolveServiceDid,
  toReauthorizePrompt,
} from './runtime-context.ts';
import { runToolLoop, type ToolLoopParts } from './tool-loop.ts';

export interface ExecutorParts
  extends HistoryParts,
    Pick<RuntimeContextParts, 'plugins' | 'signer' | 'browserCalls' | 'clients'> {
  oracle: OracleIdentity;
  behaviour?: AgentBehaviour;
  delegations: RuntimeContextParts['delegations'] & Pick<DelegationStore, 'findUsable'>;
}

export function createExecutor(parts: ExecutorParts): OwnerParts['execute'] {
  const askedAt = new Map<string, number>();
  const hasAskedLately = (sessionId: string, history: Message[]) => {
    const now = Date.now();
    for (const [id, at] of askedAt) if (now - at > agentLimits.reauthorizePromptIntervalMs) askedAt.delete(id);
    // The history covers other instances and earlier processes, the map this turn and what was summarised.
    return askedAt.has(sessionId) || history.some((message) => hasAsked(message, now));
  };

  return async ({ turn, run, steps, count }) => {
    const { history, summary, capabilities } = await loadHistory(parts, run);
    count(history);
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
    const notes = [
      ...(expired && !hasAskedBefore() ? [expiredNote] : []),
      ...(summary ? [`Earlier in this conversation: ${summary}`] : []),
    ];
    const middlewares = createTurnMiddlewares(parts.plugins.loaded, rt);
    let outcome: TurnOutcome = 'answered';
    await middlewares.wrapTurn(async () => {
      outcome = await makeAnswer(parts, { turn, run, steps, rt, history, notes, middlewares });
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

interface Answering extends Omit<Work, 'count'> {
  rt: RuntimeContext;
  history: StoredMessage[];
  /** What the model receives beside the system prompt, such as a summary of what is older than the history. */
  notes: string[];
  middlewares: TurnMiddlewares;
}

async function makeAnswer(parts: ExecutorParts, answering: Answering): Promise<TurnOutcome> {
  const { models, behaviour = {}, oracle } = parts;
  const { turn, run, steps, rt, history, notes, middlewares } = answering;
  const plugins = parts.plugins.loaded;
  const base = { rt, run, idleMs: parts.config.LLM_TIMEOUT_MS, models, middlewares };
  const { text, finish, isWaiting } = await runToolLoop({
    ...base,
    model: await chooseModel(parts, answering),
    tools: await bindTools({
      plugins,
      rt,
      callerTools: turn.callerTools ?? [],
      toTool: (agent) => createSubAgentTool(agent, { ...base, steps, from: oracle.name }),
    }),
    // Built for each step: what a tool changes, such as a preference, applies from the next step.
    system: async () => [
      await buildSystemPrompt({ name: oracle.name, instructions: behaviour.instructions, plugins, rt }),
      ...notes,
    ],
    messages: markUnanswered(completeCalls([...toPromptHistory(history), ...toQuestion(answering)])),
    maxSteps: behaviour.maxSteps ?? defaultMaxSteps,
    ...toCallOptions(behaviour, turn.answer),
    isFirstForCaller: turn.answer?.toolChoice?.type === 'required' && (turn.callerTools ?? []).length > 0,
    steps,
    output: createRunOutput(run, steps),
  });
  if (isWaiting) return 'waiting';
  const form = turn.answer?.schema ?? behaviour.output;
  if (form && finish !== 'tool_calls' && !turn.call) await checkOutput(form, text);
  if (finish) run.setFinish(finish);
  return 'answered';
}

async function chooseModel({ models, behaviour }: ExecutorParts, { turn, rt }: Answering): Promise<LanguageModelV4> {
  if (turn.call) return createDirectModel(turn.call);
  return typeof behaviour?.model === 'function' ? behaviour.model(rt) : models.choose(turn.model);
}

/** Streams words into the run, but for those that an earlier owner has sent. */
function createRunOutput({ sessionId, requestId, emit }: Run, { said, earlier }: RunSteps): StepOutput {
  const emitReasoning = (reasoning: string, isComplete: boolean) =>
    emit('reasoning', { sessionId, requestId, reasoning, isComplete });
  const sendReasoning = skipSent(said.reasoning, '\n\n', (delta) => emitReasoning(delta, false));
  const sendText = skipSent(said.text, '\n\n', (content) =>
    emit('message', { content, timestamp: new Date().toISOString() }),
  );
  return {
    ...separateSteps(earlier.map(({ result }) => result.text).join(''), sendText),
    reasoning: (delta, isComplete) => (isComplete ? emitReasoning(delta, true) : sendReasoning(delta)),
  };
}

function separateSteps(earlier: string, emit: (delta: string) => void): Pick<StepOutput, 'startStep' | 'text'> {
  let last = earlier;
  let isFirst = true;
  return {
    startStep() {
      isFirst = true;
    },
    text(delta) {
      if (delta === '') return;
      const needsGap = isFirst && last !== '' && !last.endsWith('\n');
      isFirst = false;
      last = delta;
      emit(needsGap ? `\n\n${delta}` : delta);
    },
  };
}

function toQuestion({ rt, turn }: Answering): LanguageModelV4Prompt {
  const { earlier = [], context = [], results: toolCalls } = turn;
  const isSilent = rt.message.message === '' && rt.blobStore.list().length === 0;
  const before = [...context.map((content) => ({ type: 'human' as const, content })), ...earlier];
  return toAsked({ earlier: before, toolCalls }, isSilent ? [] : [toUserQuestion(rt)], Number.POSITIVE_INFINITY);
}

function toUserQuestion({ message, blobStore }: RuntimeContext): LanguageModelV4Prompt[number] {
  const question = toUserMessage(message.message);
  if (question.role !== 'user') return question;
  for (const name of blobStore.list()) {
    const blob = blobStore.get(name);
    if (!blob) continue;
    if (blob.mediaType.startsWith('text/')) {
      question.content.push({ type: 'text', text: toFileText(name, Buffer.from(blob.bytes).toString('utf8')) });
    } else {
      // Most providers drop the name of a file.
      question.content.push({ type: 'text', text: `\n\n[File ${name}]` });
      question.content.push({
        type: 'file',
        filename: name,
        mediaType: blob.mediaType,
        data: { type: 'data', data: blob.bytes },
      });
    }
  }
  return question;
}

/** A model asked again after its instance died repeats itself: from the first difference on, its new text follows whole. */
export function skipSent(said: string, separator: string, emit: (delta: string) => void): (delta: string) => void {
  let repeated = '';
  let left = said;
  return (delta) => {
    if (left === '') return emit(delta);
    const common = left.startsWith(delta) ? delta : delta.startsWith(left) ? left : undefined;
    if (common === undefined) {
      left = '';
      return emit(separator + repeated + delta);
    }
    repeated += common;
    left = left.slice(common.length);
    if (delta.length > common.length) emit(delta.slice(common.length));
  };
}

const subAgentSteps = 8;
const subAgentTimeoutMs = 5 * 60_000;
const subAgentInput = z.object({
  task: z.string().min(1).max(20_000).describe('What to do, with everything needed to do it: it sees nothing else'),
});

type SubAgentBase = Pick<ToolLoopParts, 'run' | 'idleMs' | 'middlewares' | 'models'> & {
  steps: RunSteps;
  from: string;
};

/** It sees the task alone, and its last words are the result. */
function createSubAgentTool(agent: SubAgent, { from, steps, ...base }: SubAgentBase): Tool {
  const { tools = {} } = agent;
  return {
    description: agent.description,
    inputSchema: subAgentInput,
    timeoutMs: subAgentTimeoutMs,
    async execute(args, rt) {
      const { task } = subAgentInput.parse(args);
      rt.emit.router({ from, to: agent.name });
      try {
        const { text: answer } = await runToolLoop({
          ...base,
          rt,
          parentId: rt.toolCallId,
          steps: steps.nested(rt.toolCallId),
          model: rt.llm.get('subagent'),
          tools: toBoundTools(new Map(Object.entries(tools).map(([name, tool]) => [name, { tool, from: agent.name }]))),
          system: async () => [agent.instructions],
          messages: [toUserMessage(task)],
          maxSteps: agent.maxSteps ?? subAgentSteps,
          output: { text() {}, reasoning() {} },
        });
        return { answer };
      } catch (error) {
        if (error instanceof TurnError) throw new ToolError('TOOL_FAILED', error.message, { cause: error });
        throw error;
      } finally {
        rt.emit.router({ from: agent.name, to: from });
      }
    },
  };
}
