import { AsyncLocalStorage } from 'node:async_hooks';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ToolError } from '@palaver/agent';
import { type Logger, traceHeaders } from '@palaver/service-kit';
import { limitResponses } from '@palaver/service-kit/internal';
import type { McpServerConfig } from './mcp-config.ts';

/** Of one result. Pictures may be in it, of which the model only learns that they are there. */
const resultBytes = 8 * 1024 * 1024;
/** Of all results that are read at a time; each is in memory a few times while it is parsed. */
const allResultBytes = 32 * 1024 * 1024;

export interface ReadingCall {
  /** Takes the error of a response that breaks off while it is read: the SDK reports it to nobody who waits for the result. */
  fail(error: unknown): void;
  /** Counts bytes of the response; throws if too many are being read. */
  take(bytes: number): void;
}

/** The call whose response is read. */
export const readingCall = new AsyncLocalStorage<ReadingCall>();

let readBytes = 0;

/** Counts what a call reads until it is disposed of. */
export function countReadBytes(): Pick<ReadingCall, 'take'> & Disposable {
  let taken = 0;
  return {
    take(bytes) {
      if (readBytes + bytes > allResultBytes)
        throw new ToolError('TOOL_RESULT_TOO_LARGE', 'too many large results are being read; ask for less, or later');
      readBytes += bytes;
      taken += bytes;
    },
    [Symbol.dispose]() {
      readBytes -= taken;
      taken = 0;
    },
  };
}

/** The way to a server. With an invocation every request is made in the user's name, and in that alone. */
export function createTransport(config: McpServerConfig, logger: Logger, invocation?: string): Transport {
  if (config.url !== undefined) {
    const user: Record<string, string> =
      invocation === undefined ? {} : { authorization: `Bearer ${invocation}`, 'x-auth-type': 'ucan' };
    return new StreamableHTTPClientTransport(new URL(config.url), {
      requestInit: { headers: { ...config.headers, ...user } },
      fetch: watchResponses(continueTrace),
    });
  }
  const { command = '', args, env } = config;
  const transport = new StdioClientTransport({ command, args, env, stderr: 'pipe', maxBufferSize: resultBytes });
  transport.stderr?.on('data', (chunk) => logger.debug({ server: config.name }, String(chunk).trimEnd()));
  return transport;
}

const limitedFetch = limitResponses(globalThis.fetch, resultBytes);

const continueTrace: typeof globalThis.fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  for (const [name, value] of Object.entries(traceHeaders())) headers.set(name, value);
  return limitedFetch(input, { ...init, headers });
};

function watchResponses(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (...args) => {
    const response = await fetch(...args);
    const call = readingCall.getStore();
    if (!response.body || !call) return response;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        call.take(chunk.byteLength);
        controller.enqueue(chunk);
      },
    });
    response.body.pipeTo(writable).catch(call.fail);
    const { status, statusText, headers } = response;
    return new Response(readable, { status, statusText, headers });
  };
}
