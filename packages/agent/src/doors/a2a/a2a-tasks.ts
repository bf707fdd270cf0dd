import { randomUUID } from 'node:crypto';
import type { Approval, EndedRunStatus, Message } from '@palaver/contract';
import type { AgentRun } from '../../plugins/agent-run.ts';
import { findPause } from '../door-approvals.ts';
import { toEvent } from '../event-stream.ts';

const states: Record<EndedRunStatus, string> = {
  complete: 'TASK_STATE_COMPLETED',
  aborted: 'TASK_STATE_CANCELED',
  failed: 'TASK_STATE_FAILED',
};

const artifactId = 'answer';

export interface TaskIds {
  id: string;
  contextId: string;
}

/** How far a task is: the answer of one that has ended, or what one waits for. */
export type TaskStanding = { answer: Message } | { pause: Approval[] };

export function toTask({ id, contextId }: TaskIds, standing?: TaskStanding) {
  const ids = { id, contextId };
  if (!standing) return { ...ids, status: toStatus('TASK_STATE_WORKING') };
  if ('pause' in standing) return { ...ids, status: toInputRequired(standing.pause) };
  const { content: text, status, error } = standing.answer;
  return {
    ...ids,
    status: toStatus(states[status], error && [{ text: error.message }]),
    ...(text !== '' && { artifacts: [{ artifactId, parts: [{ text }] }] }),
  };
}

/** A run as the stream of a task: the task, its answer piece by piece, its end. */
export async function* toTaskEvents(
  run: AgentRun,
  ids: TaskIds,
  { requestId, signal }: { requestId: unknown; signal: AbortSignal },
): AsyncGenerator<string> {
  const event = (result: object) => toEvent({ jsonrpc: '2.0', id: requestId, result });
  const place = { taskId: ids.id, contextId: ids.contextId };
  yield event({ task: toTask(ids) });
  let append = false;
  let fault: { text: string }[] | undefined;
  for await (const runEvent of run.events({ signal })) {
    const pause = await findPause(run, runEvent);
    if (pause) return yield event({ statusUpdate: { ...place, status: toInputRequired(pause) } });
    const { name, data } = runEvent;
    if (name === 'error') fault = [{ text: data.error }];
    if (name === 'message') {
      yield event({ artifactUpdate: { ...place, artifact: { artifactId, parts: [{ text: data.content }] }, append } });
      append = true;
    }
    if (name === 'done') yield event({ statusUpdate: { ...place, status: toStatus(states[data.status], fault) } });
  }
}

/** The words for people, the data for programs. */
function toInputRequired(pause: Approval[]) {
  const lines = pause.map(
    ({ approvalId: id, toolName, args }) => `approve ${id} or refuse ${id}: ${toolName} ${JSON.stringify(args)}`,
  );
  const text = ['Approval is needed. Answer with a message to this task, one line per call:', ...lines].join('\n');
  return toStatus('TASK_STATE_INPUT_REQUIRED', [{ text }, { data: { approvals: pause } }]);
}

function toStatus(state: string, parts?: object[]) {
  const message = parts && { messageId: randomUUID(), role: 'ROLE_AGENT', parts };
  return { state, timestamp: new Date().toISOString(), ...(message && { message }) };
}
