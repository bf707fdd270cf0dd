import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Logger } from '@palaver/service-kit';
import { limitResponses } from '../../../models/limit-responses.ts';
import type { McpServerConfig } from './mcp-config.ts';

/** The way to a server. With an invocation every request is made in the user's name, and in that alone. */
export function createTransport(config: McpServerConfig, logger: Logger, invocation?: string): Transport {
  if (config.url !== undefined) {
    const user: Record<string, string> =
      invocation === undefined ? {} : { authorization: `Bearer ${invocation}`, 'x-auth-type': 'ucan' };
    return new StreamableHTTPClientTransport(new URL(config.url), {
      requestInit: { headers: { ...config.headers, ...user } },
      fetch: limitResponses(fetch),
    });
  }
  const { command = '', args, env } = config;
  const transport = new StdioClientTransport({ command, args, env, stderr: 'pipe' });
  transport.stderr?.on('data', (chunk) => logger.debug({ server: config.name }, String(chunk).trimEnd()));
  return transport;
}
