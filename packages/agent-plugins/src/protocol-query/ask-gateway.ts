import { ToolError } from '@palaver/agent';
import type { GatewayClient, GatewayFault } from '@palaver/protocol';

export interface GatewayQuestion {
  gateway: GatewayClient;
  /** Segments of the path; each is escaped. */
  path: string[];
  query?: Record<string, string | undefined>;
  /** What is asked for, in words for the model. */
  what: string;
  signal: AbortSignal;
}

const timeoutMs = 3_000;

/** Asks the query gateway; every refusal becomes a sentence the model can pass on. */
export async function askGateway({ gateway, path, query = {}, what, signal }: GatewayQuestion): Promise<unknown> {
  const result = await gateway.get(`/${path.map(toSegment).join('/')}`, { query, signal, timeoutMs });
  if (result.ok) return result.value;
  signal.throwIfAborted();
  throw toToolError(result, what);
}

// Colons are data in the gateway's paths and more readable unencoded.
function toSegment(text: string): string {
  return encodeURIComponent(text).replaceAll('%3A', ':');
}

function toToolError({ kind, status, message }: GatewayFault, what: string): ToolError {
  switch (kind) {
    case 'missing':
      return new ToolError('TOOL_FAILED', `the protocol has no ${what}`);
    case 'invalid':
      return new ToolError('TOOL_FAILED', `the protocol refused the request: ${message}`);
    case 'access':
      return new ToolError('TOOL_UNAVAILABLE', `a fault of this agent's configuration: ${message}`);
    case 'unsupported':
      return new ToolError('TOOL_UNAVAILABLE', 'this protocol node does not support the query');
    case 'timeout':
      return new ToolError('TOOL_TIMEOUT', `the protocol did not answer within ${timeoutMs / 1000} s`);
    default:
      return new ToolError(
        'TOOL_UNAVAILABLE',
        `the protocol cannot ${status === undefined ? 'be reached' : 'answer'} at the moment`,
      );
  }
}
