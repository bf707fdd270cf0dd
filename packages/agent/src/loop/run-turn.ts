import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { LoadedPlugin } from '../plugins/loaded-plugin.ts';
import type { RuntimeContext } from '../plugins/runtime-context.ts';
import type { TurnOutcome } from '../run/carry-out-run.ts';
import type { Run } from '../run/run.ts';
import type { RunSteps } from '../run/run-steps.ts';
import { skipSent } from '../run/skip-sent.ts';
import type { Turn } from '../run/turn.ts';
import type { StoredMessage } from '../store/messages.ts';
import { type AgentBehaviour, checkOutput, defaultMaxSteps, toCallOptions } from './agent-behaviour.ts';
import { bindTools } from './bind-tools.ts';
import { createDirectModel } from './direct-model.ts';
import { completeCalls, markUnanswered, toAsked, toFileText, toPromptHistory, toUserMessage } from './history.ts';
import { createTurnMiddlewares, type TurnMiddlewares } from './middlewares.ts';
import type { StepOutput } from './model-step.ts';
import { createSubAgentTool } from './sub-agent.ts';
import { buildSystemPrompt } from './system-prompt.ts';
import { runToolLoop, type ToolLoopParts } from './tool-loop.ts';

export interface TurnParts {
  oracleName: string;
  plugins: LoadedPlugin[];
  model: LanguageModelV4;
  rt: RuntimeContext;
  run: Run;
  history: StoredMessage[];
  turn: Pick<Turn, 'callerTools' | 'results' | 'earlier' | 'context' | 'call'>;
  /** What the model receives beside the system prompt, such as a summary of what is older than the history. */
  notes?: string[];
  idleMs: number;
  behaviour: AgentBehaviour;
  resolveModel: ToolLoopParts['resolveModel'];
  steps: RunSteps;
}

/** One turn of the main agent: its prompt, its tools, and the loop of model and tools that makes the answer. */
export async function runTurn(parts: TurnParts): Promise<TurnOutcome> {
  const middlewares = createTurnMiddlewares(parts.plugins, parts.rt);
  let outcome: TurnOutcome = 'answered';
  await middlewares.wrapTurn(async () => {
    outcome = await makeAnswer(parts, middlewares);
  });
  return outcome;
}

async function makeAnswer(parts: TurnParts, middlewares: TurnMiddlewares): Promise<TurnOutcome> {
  const { oracleName: name, plugins, rt, run } = parts;
  const { idleMs, resolveModel, behaviour } = parts;
  const base = { rt, run, idleMs, resolveModel, middlewares };
  const { text, finish, isWaiting } = await runToolLoop({
    ...base,
    model: await chooseModel(parts),
    tools: await bindTools({
      plugins,
      rt,
      callerTools: parts.turn.callerTools ?? [],
      toTool: (agent) => createSubAgentTool(agent, { ...base, checkRun: parts.steps.check, from: name }),
    }),
    // Built for each step: what a tool changes, such as a preference, applies from the next step.
    system: async () => [
      await buildSystemPrompt({ name, instructions: behaviour.instructions, plugins, rt }),
      ...(parts.notes ?? []),
    ],
    messages: markUnanswered(completeCalls([...toPromptHistory(parts.history), ...toQuestion(parts)])),
    maxSteps: behaviour.maxSteps ?? defaultMaxSteps,
    ...toCallOptions(behaviour),
    steps: parts.steps,
    output: createRunOutput(run, parts.steps),
  });
  if (isWaiting) return 'waiting';
  if (behaviour.output && finish !== 'tool_calls' && !parts.turn.call) checkOutput(behaviour.output, text);
  if (finish) run.setFinish(finish);
  return 'answered';
}

async function chooseModel({ turn, behaviour, rt, model }: TurnParts): Promise<LanguageModelV4> {
  if (turn.call) return createDirectModel(turn.call);
  return typeof behaviour.model === 'function' ? behaviour.model(rt) : model;
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

/** Puts an empty line between the texts of two steps. */
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

/** The earlier messages and results of the caller, and the user's message with its files. */
function toQuestion({ rt, turn }: TurnParts): LanguageModelV4Prompt {
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
