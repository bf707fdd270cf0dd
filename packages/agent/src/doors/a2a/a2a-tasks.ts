import type { EndedRunStatus, Message } from '@palaver/contract';
import type { AgentRun } from '../../plugins/agent-run.ts';
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

/** A task under way, or one that has ended with this answer. */
export function toTask({ id, contextId }: TaskIds, answer?: Message) {
  const text = answer?.content ?? '';
  return {
    id,
    contextId,
    status: answer ? toStatus(states[answer.status], answer.error?.message) : toStatus('TASK_STATE_WORKING'),
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
  let fault: string | undefined;
  for await (const { name, data } of run.events({ signal })) {
    if (name === 'error') fault = data.error;
    if (name === 'message') {
      yield event({ artifactUpdate: { ...place, artifact: { artifactId, parts: [{ text: data.content }] }, append } });
      append = true;
    }
    if (name === 'done') yield event({ statusUpdate: { ...place, status: toStatus(states[data.status], fault) } });
  }
}

function toStatus(state: string, fault?: string) {
  const message = fault && { messageId: 'error', role: 'ROLE_AGENT', parts: [{ text: fault }] };
  return { state, timestamp: new Date().toISOString(), ...(message && { message }) };
}
