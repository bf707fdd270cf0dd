import { AsyncLocalStorage } from 'node:async_hooks';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type Logger, traceHeaders } from '@palaver/service-kit';
import { limitResponses } from '@palaver/service-kit/internal';
import type { McpServerConfig } from './mcp-config.ts';

/**
 * Takes the error of a response that breaks off while it is read. The SDK reports it to nobody who waits for the result, so
 * the call that sent the request provides this function.
 */
export const responseFailure = new AsyncLocalStorage<(error: unknown) => void>();

/** The way to a server. With an invocation every request is made in the user's name, and in that alone. */
export function createTransport(config: McpServerConfig, logger: Logger, invocation?: string): Transport {
  if (config.url !== undefined) {
    const user: Record<string, string> =
      invocation === undefined ? {} : { authorization: `Bearer ${invocation}`, 'x-auth-type': 'ucan' };
    return new StreamableHTTPClientTransport(new URL(config.url), {
      requestInit: { headers: { ...config.headers, ...user } },
      fetch: reportFailures(continueTrace),
    });
  }
  const { command = '', args, env } = config;
  const transport = new StdioClientTransport({ command, args, env, stderr: 'pipe' });
  transport.stderr?.on('data', (chunk) => logger.debug({ server: config.name }, String(chunk).trimEnd()));
  return transport;
}

const limitedFetch = limitResponses();

const continueTrace: typeof globalThis.fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  for (const [name, value] of Object.entries(traceHeaders())) headers.set(name, value);
  return limitedFetch(input, { ...init, headers });
};

function reportFailures(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (...args) => {
    const response = await fetch(...args);
    const report = responseFailure.getStore();
    if (!response.body || !report) return response;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    response.body.pipeTo(writable).catch(report);
    const { status, statusText, headers } = response;
    return new Response(readable, { status, statusText, headers });
  };
}
