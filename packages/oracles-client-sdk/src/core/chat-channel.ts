import type { ChatParts } from './chat-parts.ts';
import { runClientCall } from './run-client-call.ts';
import type { SocketChannel } from './socket-channel.ts';
import type { SocketEvent, StreamEvent } from './wire.ts';

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
