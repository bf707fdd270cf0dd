import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  ListToolsResultSchema,
  McpError,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { type JsonSchema, ToolError, type ToolProgress } from '@palaver/agent';
import type { Logger } from '@palaver/service-kit';
import { AnswerTooLargeError } from '@palaver/service-kit/internal';
import { countReadBytes, createTransport, type McpServerConfig, readingCall } from './mcp-config.ts';

export interface McpTool {
  name: string;
  description: string;
  inputSchema: JsonSchema;
  /** By its annotations; a server that says nothing may change something. */
  isReadOnly: boolean;
}

interface McpCall {
  tool: string;
  args: Record<string, unknown>;
  signal: AbortSignal;
  invocation: string | undefined;
  onProgress(progress: ToolProgress): void;
}

export type McpServer = ReturnType<typeof connectMcpServer>;

const connectTimeoutMs = 10_000;
const pingEveryMs = 30_000;
const firstRetryMs = 250;
const longestRetryMs = 30_000;
const maxTools = 256;
/** Longer than any tool may take here; the turn's own limits come first. */
const requestTimeoutMs = 3_600_000;

/** After a lost connection the next waits for a delay or a call; after a forgotten session it does not. */
type State =
  | { is: 'connecting'; client: Client; attempt: Promise<Client | undefined> }
  | { is: 'connected'; client: Client }
  | { is: 'waiting'; retry: NodeJS.Timeout | undefined }
  | { is: 'closed' };

export function connectMcpServer(config: McpServerConfig, logger: Logger) {
  let state: State = { is: 'waiting', retry: undefined };
  let tools: McpTool[] = [];
  let failures = 0;
  /** Processes that wrote more than is read at once: the SDK then ends them, and their calls with them. */
  const overflowed = new WeakSet<Client>();
  const { name } = config;

  const isCurrent = (client: Client) => 'client' in state && state.client === client;

  /** The only place where the state changes; ends what the state before has open. */
  async function enter(next: State): Promise<void> {
    const before = state;
    state = next;
    if (before.is === 'waiting') clearTimeout(before.retry);
    if ('client' in before && !isCurrent(before.client)) await endQuietly(before.client);
  }

  /** Undefined if no connection can be made, or the agent closes. Callers at the same time share one attempt. */
  async function reach(): Promise<Client | undefined> {
    if (state.is === 'connected') return state.client;
    if (state.is === 'connecting') return state.attempt;
    return state.is === 'waiting' ? connect() : undefined;
  }

  function connect(): Promise<Client | undefined> {
    const client = createClient();
    const attempt = Promise.resolve(client).then(open);
    void enter({ is: 'connecting', client, attempt });
    return attempt;
  }

  async function open(client: Client): Promise<Client | undefined> {
    try {
      await client.connect(createTransport(config, logger), { timeout: connectTimeoutMs });
      const listed = await listTools(client, config, logger);
      if (!isCurrent(client)) return undefined;
      tools = listed;
    } catch (error) {
      lose(client, error);
      return undefined;
    }
    client.onerror = ({ message }) => {
      if (/exceeded maximum size/.test(message)) overflowed.add(client);
    };
    client.onclose = () => lose(client, new Error('the connection was closed'));
    client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
      tools = await listTools(client, config, logger).catch(() => tools);
    });
    failures = 0;
    void enter({ is: 'connected', client });
    logger.info({ server: name, tools: tools.length }, 'connected to an MCP server');
    return client;
  }

  function lose(client: Client, error: unknown): void {
    if (!isCurrent(client)) return;
    const waitMs = Math.min(firstRetryMs * 2 ** failures, longestRetryMs);
    failures += 1;
    logger.warn({ err: error, server: name, retryMs: waitMs }, 'an MCP server is not reachable');
    void enter({ is: 'waiting', retry: setTimeout(connect, waitMs) });
  }

  async function callWith(used: Client, { tool, args, signal, onProgress }: McpCall): Promise<unknown> {
    const request = { method: 'tools/call' as const, params: { name: tool, arguments: args } };
    const broken = Promise.withResolvers<never>();
    // A server that numbers its events can be asked for the rest of a stream; the SDK does so.
    let isResumable = false;
    const fail = (error: unknown) => {
      if (!isResumable || error instanceof AnswerTooLargeError || error instanceof ToolError) broken.reject(error);
    };
    using counted = countReadBytes();
    const work = readingCall.run({ fail, take: counted.take }, () =>
      used.request(request, CallToolResultSchema, {
        signal,
        timeout: requestTimeoutMs,
        onprogress: ({ progress, total, message }) =>
          onProgress({ value: progress, ...(total !== undefined && { total }), ...(message && { message }) }),
        onresumptiontoken: () => {
          isResumable = true;
        },
      }),
    );
    return toToolOutput(await Promise.race([work, broken.promise]));
  }

  /** A server that no longer knows the session has not run the tool, so the call is repeated once in a new session. */
  async function callShared(call: McpCall): Promise<unknown> {
    const used = await reach();
    if (!used) throw unavailable(name);
    try {
      return await callWith(used, call);
    } catch (error) {
      if (!isUnknownSession(error)) throw loseIfUnavailable(used, error, call);
    }
    const next = await (isCurrent(used) ? connect() : reach());
    if (!next) throw unavailable(name);
    return callWith(next, call).catch((error) => {
      throw loseIfUnavailable(next, error, call);
    });
  }

  function loseIfUnavailable(used: Client, error: unknown, call: McpCall): unknown {
    const failure = overflowed.has(used) ? tooLarge() : toToolError(error, call);
    if (failure instanceof ToolError && failure.code === 'TOOL_UNAVAILABLE') lose(used, error);
    return failure;
  }

  /** A connection of the user's own, for one call: what the server knows of it ends with it. */
  async function callAsUser(call: McpCall): Promise<unknown> {
    const own = createClient();
    try {
      const transport = createTransport(config, logger, call.invocation);
      await own.connect(transport, { timeout: connectTimeoutMs, signal: call.signal });
      return await callWith(own, call);
    } catch (error) {
      throw toToolError(error, call);
    } finally {
      await endQuietly(own);
    }
  }

  function toToolError(error: unknown, { signal }: McpCall): unknown {
    if (signal.aborted || error instanceof ToolError) return error;
    if (error instanceof AnswerTooLargeError) return tooLarge();
    if (isAnswer(error)) return new ToolError('TOOL_FAILED', error.message);
    if (error instanceof StreamableHTTPError && (error.code === 401 || error.code === 403))
      return new ToolError('AUTHORIZATION_REQUIRED', `${name} did not accept the invocation`);
    return unavailable(name, error);
  }

  const ping = setInterval(() => {
    if (state.is !== 'connected') return;
    const { client } = state;
    client.ping({ timeout: connectTimeoutMs }).catch((error) => {
      if (!isAnswer(error)) lose(client, error);
    });
  }, pingEveryMs);

  return {
    config,
    /** Resolves after the first attempt to connect, however it went. */
    tried: connect(),
    /** As last received; while the server is unreachable they stay, and fail with that reason when they are called. */
    tools: () => tools,
    call: (call: McpCall) => (call.invocation === undefined ? callShared(call) : callAsUser(call)),
    async close(): Promise<void> {
      clearInterval(ping);
      await enter({ is: 'closed' });
    },
  };
}

const createClient = (): Client => new Client({ name: 'palaver', version: '1.0.0' });

async function endQuietly(client: Client): Promise<void> {
  await client.close().catch(() => {});
}

function unavailable(name: string, cause?: unknown): ToolError {
  return new ToolError('TOOL_UNAVAILABLE', `the server ${name} is not reachable at the moment`, { cause });
}

function tooLarge(): ToolError {
  return new ToolError('TOOL_RESULT_TOO_LARGE', 'the result is too large to be read; ask for less');
}

/** Whether the server itself answered with the error, as opposed to a failed connection or a timeout. */
function isAnswer(error: unknown): error is McpError {
  return (
    error instanceof McpError && error.code !== ErrorCode.RequestTimeout && error.code !== ErrorCode.ConnectionClosed
  );
}

/** 404 is the protocol's answer; some servers say 400 and name the session in their message. */
function isUnknownSession(error: unknown): boolean {
  if (!(error instanceof StreamableHTTPError)) return false;
  return error.code === 404 || (error.code === 400 && /session/i.test(error.message));
}

// `request` and not `listTools`: that one compiles every tool's output schema, which nobody here looks at.
async function listTools(client: Client, { name: server }: McpServerConfig, logger: Logger): Promise<McpTool[]> {
  const found: McpTool[] = [];
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, {
      timeout: connectTimeoutMs,
    });
    for (const { name, description = name, inputSchema, execution, annotations } of page.tools) {
      if (execution?.taskSupport === 'required')
        logger.info({ server, tool: name }, 'a tool that runs only as a task is not offered');
      else found.push({ name, description, inputSchema, isReadOnly: annotations?.readOnlyHint === true });
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length < maxTools);
  return found.slice(0, maxTools);
}

/** What the model reads of a result: data where there is some, otherwise the texts; the rest by name. */
function toToolOutput({ content, structuredContent, isError }: CallToolResult): unknown {
  const texts = content.map(describe);
  if (isError) throw new ToolError('TOOL_FAILED', texts.join('\n').slice(0, 4_000) || 'the tool gave no reason');
  return structuredContent ?? texts.join('\n');
}

function describe(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[file ${part.resource.uri}]`;
    case 'resource_link':
      return `[link ${part.name}: ${part.uri}]`;
    default:
      return `[${part.type} ${part.mimeType}]`;
  }
}
