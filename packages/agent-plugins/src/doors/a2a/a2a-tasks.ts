import type { AgentRun, PluginContext, RunSummary } from '@palaver/agent';
import type { Approval, EndedRunStatus, Message, RunStatus } from '@palaver/contract';
import { toEvent } from '@palaver/service-kit/internal';
import { findPause, toRequests } from '../define-door.ts';

const endStates: Record<EndedRunStatus, string> = {
  complete: 'TASK_STATE_COMPLETED',
  aborted: 'TASK_STATE_CANCELED',
  failed: 'TASK_STATE_FAILED',
};

export const hasEnded = (status: RunStatus): status is EndedRunStatus => status in endStates;

/** The statuses of runs that are listed for a state; other states have no task. */
export const statusesOfStates: Record<string, RunStatus[]> = {
  TASK_STATE_WORKING: ['queued', 'running'],
  TASK_STATE_INPUT_REQUIRED: ['waiting'],
  TASK_STATE_COMPLETED: ['complete'],
  TASK_STATE_CANCELED: ['aborted'],
  TASK_STATE_FAILED: ['failed'],
  TASK_STATE_SUBMITTED: [],
  TASK_STATE_REJECTED: [],
  TASK_STATE_AUTH_REQUIRED: [],
};

type Messages = PluginContext['messages'];
type State = Pick<RunSummary, 'status' | 'changedAt'>;

export interface TaskOptions {
  contextId: string;
  historyLength?: number | undefined;
  includeArtifacts?: boolean | undefined;
  state?: State | undefined;
}

export async function toTask(messages: Messages, run: AgentRun, options: TaskOptions) {
  const { contextId, historyLength = 0, includeArtifacts = true } = options;
  const state = options.state ?? (await run.state());
  const place = { taskId: run.runId, contextId };
  const isWanted = state.status === 'failed' || (includeArtifacts && hasEnded(state.status));
  const answer = isWanted ? await messages.find(run.sessionId, run.messageId) : undefined;
  const question = historyLength > 0 ? await run.question() : undefined;
  return {
    id: run.runId,
    contextId,
    status: await toStatus(run, { ...state, error: answer?.error }, place),
    ...(includeArtifacts && answer && answer.content !== '' && { artifacts: [toArtifact(answer.content)] }),
    ...(question && { history: [toMessage(question.id, 'ROLE_USER', [{ text: question.content }], place)] }),
  };
}

type Place = { taskId: string; contextId: string };

async function toStatus(run: AgentRun, { status, changedAt, error }: State & Pick<Message, 'error'>, place: Place) {
  const base = { timestamp: changedAt };
  const id = `${run.messageId}-${Date.parse(changedAt)}`;
  const say = (parts: object[]) => ({ message: toMessage(id, 'ROLE_AGENT', parts, place) });
  if (hasEnded(status)) return { state: endStates[status], ...base, ...(error && say([{ text: error.message }])) };
  const pause = status === 'waiting' ? toRequests(await run.approvals()) : [];
  if (pause.length === 0) return { state: 'TASK_STATE_WORKING', ...base };
  return { state: 'TASK_STATE_INPUT_REQUIRED', ...base, ...say(toRequest(pause)) };
}

function toRequest(pause: Approval[]): object[] {
  const lines = pause.map(
    ({ approvalId: id, toolName, args }) => `approve ${id} or refuse ${id}: ${toolName} ${JSON.stringify(args)}`,
  );
  const text = ['Approval is needed. Answer with a message to this task, one line per call:', ...lines].join('\n');
  return [{ text }, { data: { approvals: pause } }];
}

function toMessage(messageId: string, role: string, parts: object[], { taskId, contextId }: Place) {
  return { messageId, role, parts, taskId, contextId };
}

const toArtifact = (text: string) => ({ artifactId: 'answer', parts: [{ text }] });

type StreamOptions = { contextId: string; requestId: unknown; signal: AbortSignal };

export async function* toTaskEvents(messages: Messages, run: AgentRun, options: StreamOptions): AsyncGenerator<string> {
  const status = { state: 'TASK_STATE_WORKING', timestamp: (await run.state()).changedAt };
  yield toResult(options, { task: { id: run.runId, contextId: options.contextId, status } });
  yield* toUpdates(messages, run, { ...options, after: 0, isBegun: false, endsAtPause: true });
}

export async function* toLaterEvents(
  messages: Messages,
  run: AgentRun,
  options: StreamOptions,
): AsyncGenerator<string> {
  const { contextId, signal } = options;
  const after = await run.lastEvent();
  let text = '';
  if (after > 0)
    for await (const { id, name, data } of run.events({ signal })) {
      if (name === 'message') text += data.content;
      if (id >= after) break;
    }
  const state = await run.state();
  const task = await toTask(messages, run, { contextId, state });
  if (hasEnded(state.status)) return yield toResult(options, { task });
  yield toResult(options, { task: { ...task, ...(text !== '' && { artifacts: [toArtifact(text)] }) } });
  yield* toUpdates(messages, run, { ...options, after, isBegun: text !== '', endsAtPause: false });
}

type UpdateOptions = StreamOptions & { after: number; isBegun: boolean; endsAtPause: boolean };

async function* toUpdates(messages: Messages, run: AgentRun, options: UpdateOptions): AsyncGenerator<string> {
  const { after, signal, contextId, endsAtPause } = options;
  const place = { taskId: run.runId, contextId };
  let append = options.isBegun;
  for await (const event of run.events({ after, signal })) {
    const { name, data } = event;
    if (name === 'message') {
      yield toResult(options, { artifactUpdate: { ...place, artifact: toArtifact(data.content), append } });
      append = true;
    }
    const pause = await findPause(run, event);
    if (!pause && name !== 'done') continue;
    const { status } = await toTask(messages, run, { contextId, includeArtifacts: false });
    yield toResult(options, { statusUpdate: { ...place, status } });
    if (pause && endsAtPause) return;
  }
}

function toResult({ requestId }: StreamOptions, result: object): string {
  return toEvent({ jsonrpc: '2.0', id: requestId, result });
}
