import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  CancelledNotificationSchema,
  ErrorCode,
  isInitializeRequest,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { AgentRun, OraclePlugin, PluginContext, Sender } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import type { Server as HttpServer } from '@palaver/service-kit';
import { describeRoutes, takeOver, toReply } from '@palaver/service-kit/internal';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { defineDoor, openRun, refuseApprovals, toBody } from './define-door.ts';
import { toResultText } from './translate-run.ts';

const metadataPath = '/.well-known/oauth-protected-resource';
const askSchema = z.object({
  message: z.string().describe('What to ask or tell the agent'),
  conversation: z.string().max(255).optional().describe('The conversation of an earlier answer, to continue it'),
});
const askTool = 'ask';
const refusalSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.null(),
  error: z.object({ code: z.int(), message: z.string(), data: z.looseObject({}).optional() }),
});
const sessionHeader = 'mcp-session-id';
/** One for all requests: a server makes its own otherwise, which takes a third of a millisecond. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/** `POST /mcp`: the agent as a tool of other agents, over streamable HTTP. */
export function createMcpDoor(): OraclePlugin {
  return defineDoor({
    name: 'mcp',
    title: 'MCP',
    errorBody: refusalSchema,
    toErrorBody: ({ code, message }) => ({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32000, message, data: { code } },
    }),
    publicRoutes: [
      { path: metadataPath, method: 'GET' },
      { path: `${metadataPath}/mcp`, method: 'GET' },
    ],
    addRoutes,
  });
}

function addRoutes(server: HttpServer, ctx: PluginContext): void {
  const { urlOf } = ctx;
  const route = describeRoutes('MCP');
  for (const path of [metadataPath, `${metadataPath}/mcp`])
    server.get(path, { schema: route('How to get a token for MCP', {}) }, async (request) => ({
      resource: `${urlOf(request)}/mcp`,
      resource_name: ctx.oracle.name,
      bearer_methods_supported: ['header'],
      // The agent has no authorization server: tokens are UCANs that users sign themselves.
      resource_documentation: `${urlOf(request)}/docs`,
    }));

  const running = new Map<string, AgentRun>();
  const challenge = (request: FastifyRequest) => `Bearer resource_metadata="${urlOf(request)}${metadataPath}/mcp"`;
  const response = {
    200: toReply('The reply to a request', 'application/json', 'text/event-stream'),
    202: z.undefined().describe('A notification was taken in'),
  };
  const schema = route('MCP over streamable HTTP', { body: z.unknown(), response });
  const config = { bareBearer: true, challenge, refuses: [406] };
  server.post('/mcp', { config, schema }, async (request, reply) => {
    // Each would be a message, while limits of a client address count requests.
    if (Array.isArray(request.body))
      throw new AppError('BAD_REQUEST', 'Send one message in each request, not a batch.');
    const session = [request.headers[sessionHeader]].flat()[0] || undefined;
    const mcp = createMcpServer(ctx, { sender: ctx.senderOf(request, reply), session, running, reply: reply.raw });
    // Without sessions: every request is whole, so any instance answers it.
    const transport = new StreamableHTTPServerTransport({});
    takeOver(reply).once('close', () => void mcp.close());
    // The headers that hooks have set, such as those of CORS: the transport writes past the framework.
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    if (isInitializeRequest(request.body)) reply.raw.setHeader(sessionHeader, randomUUID());
    await mcp.connect(transport);
    await transport.handleRequest(request.raw, reply.raw, request.body);
    return reply;
  });
  server.route({
    method: ['GET', 'DELETE'],
    url: '/mcp',
    config,
    schema: { hide: true },
    async handler(_request, reply) {
      reply.header('allow', 'POST');
      throw new AppError('METHOD_NOT_ALLOWED', 'There are no streams other than those of requests.');
    },
  });
}

type ToolParams = CallToolRequest['params'];
type Called = { params: ToolParams; onOpen: (run: AgentRun) => void };

interface Caller {
  sender: Sender;
  /** As the client received it. Requests need no session, so it only distinguishes clients of one user. */
  session: string | undefined;
  running: Map<string, AgentRun>;
  reply: ServerResponse;
}

function createMcpServer(ctx: PluginContext, { sender, session, running, reply }: Caller): Server {
  const toKey = (requestId: unknown) => JSON.stringify([sender.userDid, session, requestId]);
  const mcp = new Server({ name: ctx.oracle.name, version: '1' }, { capabilities: { tools: {} }, jsonSchemaValidator });
  mcp.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      {
        name: askTool,
        description: `Asks ${ctx.oracle.name} and gives its answer.`,
        inputSchema: { ...z.toJSONSchema(askSchema, { io: 'input' }), type: 'object' as const },
      },
      ...ctx.publicTools().map((tool) => ({ ...tool, inputSchema: { ...tool.inputSchema, type: 'object' as const } })),
    ],
  }));
  mcp.setNotificationHandler(CancelledNotificationSchema, async ({ params: { requestId } }) => {
    await running.get(toKey(requestId))?.abort();
  });
  mcp.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification, requestId }) => {
    const key = toKey(requestId);
    // Without a session the calls of two clients of a user cannot be distinguished.
    const onOpen = (run: AgentRun) => void (session !== undefined && running.set(key, run));
    const progressToken = params._meta?.progressToken;
    const onText = async (progress: number, message: string) => {
      // What a slow reader misses is in the result.
      if (progressToken === undefined || reply.writableNeedDrain) return;
      await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, message } });
    };
    try {
      if (params.name !== askTool) return await callTool(ctx, sender, { params, onOpen });
      const run = await ask(ctx, sender, params);
      onOpen(run);
      return await toResult(refuseApprovals(ctx, sender.userDid, run), onText);
    } catch (error) {
      if (error instanceof McpError) throw error;
      if (error instanceof AppError) return toFault(error.code, error.message);
      ctx.logger.error({ err: error }, 'a tool call of an MCP client failed');
      return toFault('INTERNAL_ERROR', 'Something went wrong on our side.');
    } finally {
      running.delete(key);
    }
  });
  return mcp;
}

async function ask(ctx: PluginContext, sender: Sender, { arguments: args }: ToolParams): Promise<AgentRun> {
  const parsed = askSchema.safeParse(args ?? {});
  if (!parsed.success)
    throw new AppError('VALIDATION_FAILED', parsed.error.issues.map(({ message }) => message).join('; '));
  const { message, conversation } = parsed.data;
  if (message === '') throw new AppError('VALIDATION_FAILED', 'message: must not be empty');
  const sent = { ...sender, body: toBody(message) };
  return openRun(ctx, { userDid: sender.userDid, name: conversation }, () => sent);
}

/** A public tool runs in a run and a session of its own, so that limits, credits and approvals apply; neither is kept. */
async function callTool(ctx: PluginContext, sender: Sender, { params, onOpen }: Called): Promise<CallToolResult> {
  const { name, arguments: args = {} } = params;
  if (!ctx.publicTools().some((tool) => tool.name === name))
    throw new McpError(ErrorCode.InvalidParams, `There is no tool ${name.slice(0, 60)}.`);
  const run = await openRun(ctx, sender, () => ({ ...sender, body: toBody(''), call: { name, args } }));
  onOpen(run);
  try {
    for await (const _event of refuseApprovals(ctx, sender.userDid, run).events());
    const { toolCalls = [], error } = await run.answer();
    const [call] = toolCalls;
    const fault = error?.message ?? (call ? call.error : 'It did not run.');
    return fault === undefined ? toTextResult(toResultText(call?.output)) : { ...toTextResult(fault), isError: true };
  } finally {
    await ctx.sessions.remove(sender.userDid, run.sessionId);
  }
}

/** Reports the text as it arrives; the run continues if the client disconnects, as the protocol requires. */
async function toResult(run: AgentRun, onText: (progress: number, text: string) => Promise<void>) {
  let progress = 0;
  for await (const { name, data } of run.events()) {
    if (name === 'message') {
      progress += 1;
      await onText(progress, data.content);
    }
    if (name === 'error') return toFault(data.code, data.error);
  }
  const { content } = await run.answer();
  return { ...toTextResult(content), structuredContent: { answer: content, conversation: run.sessionId } };
}

const toTextResult = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

function toFault(code: string, message: string): CallToolResult {
  return { ...toTextResult(`${code}: ${message}`), isError: true };
}
