import { traceHeaders } from '@palaver/service-kit';
import { z } from 'zod';
import { ToolError } from '../../runtime-context.ts';

export interface GatewayQuestion {
  gatewayUrl: string;
  /** Segments of the path; each is escaped. */
  path: string[];
  query?: Record<string, string | undefined> | undefined;
  /** What is asked for, in words for the model. */
  what: string;
  signal: AbortSignal;
}

const timeoutMs = 3_000;
const errorSchema = z
  .object({ message: z.unknown(), code: z.unknown() })
  .catch({ message: undefined, code: undefined });

/** Asks the query gateway; every refusal becomes a sentence the model can pass on. */
export async function askGateway({ gatewayUrl, path, query = {}, what, signal }: GatewayQuestion): Promise<unknown> {
  const url = new URL(`${gatewayUrl}/${path.map(toSegment).join('/')}`);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([signal, late]),
      headers: { accept: 'application/json', ...traceHeaders() },
    });
    const body: unknown = await response.json();
    if (response.ok) return body;
    throw toToolError(response.status, body, what);
  } catch (error) {
    if (error instanceof ToolError || signal.aborted) throw error;
    if (late.aborted)
      throw new ToolError('TOOL_TIMEOUT', `the protocol did not answer within ${timeoutMs / 1000} s`, { cause: error });
    throw new ToolError('TOOL_UNAVAILABLE', 'the protocol cannot be reached at the moment', { cause: error });
  }
}

// Colons are data in the gateway's paths and more readable as they are.
function toSegment(text: string): string {
  return encodeURIComponent(text).replaceAll('%3A', ':');
}

function toToolError(status: number, body: unknown, what: string): ToolError {
  const { message, code } = errorSchema.parse(body);
  // Modules of the protocol report a missing record as an error without a gRPC code: 2, HTTP 500.
  const isMissing = status === 404 || (code === 2 && /not found\b/.test(String(message)));
  if (isMissing) return new ToolError('TOOL_FAILED', `the protocol knows no ${what}`);
  if (status === 400) return new ToolError('TOOL_FAILED', `the protocol did not understand: ${String(message)}`);
  if (status === 401 || status === 403) return new ToolError('TOOL_UNAVAILABLE', 'the protocol does not let us ask');
  if (status === 501) return new ToolError('TOOL_UNAVAILABLE', 'this protocol node does not answer such questions');
  return new ToolError('TOOL_UNAVAILABLE', 'the protocol cannot answer at the moment');
}
