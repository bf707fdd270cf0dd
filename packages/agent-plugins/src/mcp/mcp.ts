import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  defineOraclePlugin,
  type OraclePlugin,
  type RuntimeContext,
  type Tool,
  ToolError,
  type Tools,
} from '@palaver/agent';
import { toolNamePattern } from '@palaver/contract/internal';
import { toManifest } from '../plugin-parts.ts';
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
    manifest: toManifest('MCP servers', 'Uses the tools of the MCP servers the operator has connected.', {
      category: 'integration',
    }),
    configSchema: mcpConfigSchema,
    autoDetect: (env) => Boolean(env.MCP_SERVERS),
    autoDetectHint: 'set MCP_SERVERS',
    async setup({ config, logger }) {
      servers = config.MCP_SERVERS.map((server) => connectMcpServer(server, logger));
      const tried = Promise.all(servers.map((server) => server.tried));
      await Promise.race([tried, sleep(startWaitMs, undefined, { ref: false })]);
    },
    // Asked per request, because servers come and go and change their lists.
    getRequestTools: () => Object.assign({}, ...servers.map(toTools)),
    async teardown() {
      await Promise.all(servers.map((server) => server.close()));
    },
  });
}

function toTools(server: McpServer): Tools {
  const named = toToolNames(server.config.name, server.tools());
  return Object.fromEntries([...named].map(([name, tool]) => [name, toTool(server, name, tool)]));
}

/** Providers take fewer characters than MCP: a name that is changed and too long, or another tool's, gets a hash of the original. */
function toToolNames(server: string, tools: McpTool[]): Map<string, McpTool> {
  const cleaned = tools.map((tool) => ({ tool, name: `${server}__${tool.name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}` }));
  const named = new Map<string, McpTool>();
  for (const { tool, name } of cleaned) {
    const isShared = cleaned.some((other) => other.name === name && other.tool !== tool);
    const isOwn = name === `${server}__${tool.name}`;
    const fits = toolNamePattern.test(name) && (isOwn || !isShared);
    const hash = createHash('sha256').update(tool.name).digest('hex').slice(0, 8);
    named.set(fits ? name : `${name.slice(0, 55)}_${hash}`, tool);
  }
  return named;
}

function asks({ approval }: McpServer['config'], { name, isReadOnly }: McpTool): boolean {
  if (Array.isArray(approval)) return approval.includes(name);
  return approval === 'always' || (approval === 'writes' && !isReadOnly);
}

function toTool(server: McpServer, name: string, listed: McpTool): Tool {
  const { name: tool, description, inputSchema } = listed;
  const { protected: isProtected, did, sign } = server.config;
  const needsInvocation = isProtected === true || (Array.isArray(isProtected) && isProtected.includes(tool));
  const toCapability = ({ user }: RuntimeContext) => ({ can: 'mcp/call', with: user.did, nb: { server: did, tool } });
  const hasOwn = ({ message }: RuntimeContext) => message.mcpInvocations?.[name] !== undefined;

  async function findInvocation(rt: RuntimeContext): Promise<string> {
    const own = rt.message.mcpInvocations?.[name] ?? rt.invocation;
    if (own !== undefined) return own;
    if (did !== undefined && sign === 'agent')
      return (await rt.ucan.mintInvocation({ audience: did, capability: toCapability(rt) })).serialized;
    throw new ToolError('AUTHORIZATION_REQUIRED', `the user has to sign an invocation for ${name} first; ask them to`);
  }

  const toNeed = (audience: string): Pick<Tool, 'needsDelegation' | 'needsInvocation'> =>
    sign === 'user'
      ? { needsInvocation: (rt) => (hasOwn(rt) ? undefined : { audience, capability: toCapability(rt) }) }
      : { needsDelegation: (_args, rt) => (hasOwn(rt) ? undefined : toCapability(rt)) };

  // An invocation that the user has signed, or is asked to sign, approves the call.
  const isSigned = needsInvocation && !(did && sign === 'agent');
  return {
    description: description.slice(0, maxDescription),
    inputSchema,
    ...(asks(server.config, listed) && !isSigned && { needsApproval: (_args, rt) => !(needsInvocation && hasOwn(rt)) }),
    ...(needsInvocation && did && toNeed(did)),
    async execute(args: Record<string, unknown>, rt: RuntimeContext) {
      const invocation = needsInvocation ? await findInvocation(rt) : undefined;
      return server.call({ tool, args, signal: rt.abortSignal, invocation, onProgress: rt.reportProgress });
    },
  };
}
