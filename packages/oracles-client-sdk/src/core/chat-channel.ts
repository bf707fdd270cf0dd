import type { ChatOptions } from './chat-interface.ts';
import type { ChatParts } from './chat-parts.ts';
import { runBrowserTool, runClientAction } from './client-tools.ts';
import type { SocketChannel } from './socket-channel.ts';
import type { CallOutcome, ClientCallEvent, SocketEvent, StreamEvent } from './wire.ts';

/** The event channel of a chat: shows its events, and runs the tools and actions that the agent calls. */
export function openChatChannel(
  { options, dispatch, syncQuietly, take }: ChatParts,
  parts: { url: string; isStreamed(requestId: string): boolean; onConnected(isConnected: boolean): void },
): SocketChannel {
  const { transport, sessionId } = options;
  let connections = 0;

  function onEvent(event: SocketEvent): void {
    const { eventName } = event;
    const isCall = eventName === 'browser_tool_call' || eventName === 'action_call';
    const { requestId = '' } = event.payload as { requestId?: string };
    if (isCall || !parts.isStreamed(requestId)) options.onEvent?.(event);
    take(event);
    const show = (shown: StreamEvent) => dispatch({ type: 'received', event: shown });
    if (eventName === 'message_cache_invalidation') syncQuietly();
    if (eventName === 'tool_call' || eventName === 'render_component' || eventName === 'approval_request') show(event);
    if (eventName === 'browser_tool_call' || eventName === 'action_call') {
      void runClientCall(event, { options, show, emit: (name, payload) => channel.emit(name, payload) });
    }
  }

  const channel = transport.openSocket({
    url: parts.url,
    sessionId,
    transport,
    onEvent,
    onConnected(isConnected) {
      parts.onConnected(isConnected);
      // Events sent while the socket was disconnected are lost.
      if (isConnected && connections++ > 0) syncQuietly();
    },
  });
  return channel;
}

interface ClientCallParts {
  options: Pick<ChatOptions, 'clientTools' | 'onClientCall' | 'sessionId'>;
  show(event: StreamEvent): void;
  emit(event: 'tool_result' | 'action_call_result', payload: Record<string, unknown>): void;
}

/** Runs a call on this page. How it goes is shown at once; the service says the same in its stream. */
async function runClientCall(
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
