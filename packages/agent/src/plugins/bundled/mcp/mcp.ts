import { setTimeout as sleep } from 'node:timers/promises';
import { toolNamePattern } from '@palaver/contract';
import type { z } from 'zod';
import { defineOraclePlugin, type OraclePlugin, type PluginContext, type Tool, type Tools } from '../../plugin.ts';
import { type RuntimeContext, ToolError } from '../../runtime-context.ts';
import { mcpConfigSchema } from './mcp-config.ts';
import { connectMcpServer, type McpServer, type McpTool } from './mcp-server.ts';

/** How long the start waits for servers; one that takes longer joins when it is there. */
const startWaitMs = 3_000;
const maxDescription = 2_000;

/** Tools of MCP servers, named `server__tool`. */
export function createMcpPlugin(): OraclePlugin {
  let servers: McpServer[] = [];
  return defineOraclePlugin({
    name: 'mcp',
    version: '1.0.0',
    manifest: {
      title: 'MCP servers',
      summary: 'Uses the tools of the MCP servers the operator has connected.',
      whenToUse: [],
      category: 'integration',
      visibility: 'silent',
      stability: 'stable',
    },
    configSchema: mcpConfigSchema,
    autoDetect: (env) => Boolean(env.MCP_SERVERS),
    autoDetectHint: 'set MCP_SERVERS',
    async setup({ config, logger }: PluginContext) {
      const { MCP_SERVERS } = config as z.infer<typeof mcpConfigSchema>;
      servers = MCP_SERVERS.map((server) => connectMcpServer(server, logger));
      await Promise.race([
        Promise.all(servers.map(({ tried }) => tried)),
        sleep(startWaitMs, undefined, { ref: false }),
      ]);
    },
    // Asked per request, because servers come and go and change their lists.
    getRequestTools: () => Object.assign({}, ...servers.map(toTools)),
    async teardown() {
      await Promise.all(servers.map((server) => server.close()));
    },
  });
}

function toTools(server: McpServer): Tools {
  const named = server.tools().map((tool) => [toToolName(server.config.name, tool.name), tool] as const);
  const usable = named.filter(([name]) => toolNamePattern.test(name));
  return Object.fromEntries(usable.map(([name, tool]) => [name, toTool(server, name, tool)]));
}

/** MCP allows dots and slashes in names, model providers do not. */
function toToolName(server: string, tool: string): string {
  return `${server}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
}

function toTool(server: McpServer, name: string, { name: tool, description, inputSchema }: McpTool): Tool {
  const { protected: isProtected } = server.config;
  const needsInvocation = isProtected === true || (Array.isArray(isProtected) && isProtected.includes(tool));
  return {
    description: description.slice(0, maxDescription),
    input: inputSchema,
    async execute(args: Record<string, unknown>, { message, abortSignal }: RuntimeContext) {
      const invocation = needsInvocation ? message.mcpInvocations?.[name] : undefined;
      if (needsInvocation && invocation === undefined) {
        throw new ToolError(
          'AUTHORIZATION_REQUIRED',
          `the user has to sign an invocation for ${name} first; ask them to`,
        );
      }
      return server.call({ tool, args, signal: abortSignal, invocation });
    },
  };
}
