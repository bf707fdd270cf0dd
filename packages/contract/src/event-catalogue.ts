// The catalogue `list-events` answers with, in the words of the specification; free of zod.

export const serverEvents = [
  { name: 'connected', description: 'Handshake accepted' },
  { name: 'pong', description: 'Reply to ping' },
  { name: 'status', description: 'Reply to a status request (connection stats)' },
  { name: 'subscribed', description: 'Subscription acknowledged' },
  { name: 'available-events', description: 'Reply to list-events; the full event catalog' },
  { name: 'tool_call', description: 'A tool is being invoked, or has returned' },
  { name: 'action_call', description: 'An AG-UI action is being invoked' },
  { name: 'approval_request', description: 'A tool waits for the user to approve it, or has been answered' },
  { name: 'render_component', description: 'A render-component result is ready for the client' },
  { name: 'browser_tool_call', description: "A browser-side tool is being invoked on the user's tab" },
  { name: 'router_update', description: 'A routing decision between agents or sub-agents' },
  { name: 'message_cache_invalidation', description: 'A cached message should be dropped' },
  { name: 'error', description: 'The connection is about to be closed, and why' },
] as const;

export const clientEvents = [
  { name: 'ping', description: 'Keep-alive; server replies pong' },
  { name: 'status', description: 'Request connection stats; server replies status' },
  { name: 'subscribe', description: 'Subscribe to session events; server acknowledges with subscribed' },
  { name: 'list-events', description: 'Ask for the catalog; server replies available-events' },
  { name: 'tool_result', description: 'Return a browser-tool result' },
  { name: 'action_call_result', description: 'Return an AG-UI action result' },
  { name: 'approval_response', description: 'Approve or refuse a tool call' },
] as const;

/** The name of an event that the server sends over a socket. */
export type ServerEventName = (typeof serverEvents)[number]['name'];
export type ClientEventName = (typeof clientEvents)[number]['name'];

export const reauthorizeComponentName = 'ReauthorizePrompt';

/** Flat and enveloped, so that both kinds of existing client read it; last, because no payload may replace the envelope. */
export function toSocketPayload<Name extends ServerEventName, Payload extends object>(
  eventName: Name,
  payload: Payload,
): Payload & { eventName: Name; payload: Payload } {
  return { ...payload, eventName, payload };
}
