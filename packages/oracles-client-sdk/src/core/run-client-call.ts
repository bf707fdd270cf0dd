import type { ChatOptions } from './chat-interface.ts';
import { runBrowserTool, runClientAction } from './client-tools.ts';
import type { CallOutcome, ClientCallEvent, StreamEvent } from './wire.ts';

export interface ClientCallParts {
  options: Pick<ChatOptions, 'clientTools' | 'onClientCall' | 'sessionId'>;
  show(event: StreamEvent): void;
  emit(event: 'tool_result' | 'action_call_result', payload: Record<string, unknown>): void;
}

/** Runs a call on this page. How it goes is shown at once; the service says the same in its stream. */
export async function runClientCall(
  { eventName, payload: call }: ClientCallEvent,
  { options, show, emit }: ClientCallParts,
): Promise<void> {
  const { toolCallId } = call;
  const isTool = eventName === 'browser_tool_call';
  const tools = options.clientTools?.() ?? {};
  const showOutcome = (outcome: CallOutcome) => show({ eventName, payload: { ...call, ...outcome } });
  showOutcome({ status: 'isRunning' });
  options.onClientCall?.(toolCallId, true);
  const outcome = await (isTool ? runBrowserTool(tools, call) : runClientAction(tools, call));
  const { result, error } = outcome;
  showOutcome(error === undefined ? { status: 'done', output: result } : { status: 'error', error });
  options.onClientCall?.(toolCallId, false);
  emit(isTool ? 'tool_result' : 'action_call_result', { sessionId: options.sessionId, toolCallId, ...outcome });
}
