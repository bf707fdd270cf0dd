import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  ErrorCode,
  ListToolsResultSchema,
  McpError,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Logger } from '@palaver/service-kit';
import { AnswerTooLargeError } from '@palaver/service-kit/internal';
import { ToolError, type ToolProgress } from '../../runtime-context.ts';
import type { JsonSchema } from '../../tool.ts';
import { createTransport, responseFailure } from './create-transport.ts';
import type { McpServerConfig } from './mcp-config.ts';
import { toToolOutput } from './tool-output.ts';

export interface McpTool {
  name: string;
  description: string;
  inputSchema: JsonSchema;
  /** By its annotations; a server that says nothing may change something. */
  isReadOnly: boolean;
}

export interface McpCall {
  tool: string;
  args: Record<string, unknown>;
  signal: AbortSignal;
  /** The user's own, for a protected tool. */
  invocation: string | undefined;
  onProgress(progress: ToolProgress): void;
}

export interface McpServer {
  readonly config: McpServerConfig;
  /** Resolves after the first attempt to connect, however it went. */
  readonly tried: Promise<void>;
  /** As last received; while the server is unreachable they stay, and fail with that reason when they are called. */
  tools(): McpTool[];
  call(call: McpCall): Promise<unknown>;
  close(): Promise<void>;
}

const connectTimeoutMs = 10_000;
const pingEveryMs = 30_000;
const firstRetryMs = 250;
const longestRetryMs = 30_000;
const maxTools = 256;
/** Longer than any tool may take here; the turn's own limits come first. */
const requestTimeoutMs = 3_600_000;

/** Keeps a connection to a server for as long as the agent runs, and reconnects with growing delays. */
export function connectMcpServer(config: McpServerConfig, logger: Logger): McpServer {
  let client: Client | undefined;
  let connecting: Promise<Client | undefined> | undefined;
  let pending: Client | undefined;
  let tools: McpTool[] = [];
  let closed = false;
  let failures = 0;
  let retry: NodeJS.Timeout | undefined;
  /** Processes that wrote more than is read at once: the SDK then ends them, and their calls with them. */
  const overflowed = new WeakSet<Client>();
  const { name } = config;

  /** Undefined if it fails, or where the agent closes meanwhile. Callers at the same time share one attempt. */
  function connect(): Promise<Client | undefined> {
    clearTimeout(retry);
    connecting ??= connectOnce().finally(() => {
      connecting = undefined;
    });
    return connecting;
  }

  async function connectOnce(): Promise<Client | undefined> {
    const fresh = createClient();
    pending = fresh;
    try {
      await fresh.connect(createTransport(config, logger), { timeout: connectTimeoutMs });
      tools = await listTools(fresh, config, logger);
    } catch (error) {
      await endQuietly(fresh);
      retryLater(error);
      return undefined;
    }
    if (closed) {
      await endQuietly(fresh);
      return undefined;
    }
    fresh.onerror = ({ message }) => {
      if (/exceeded maximum size/.test(message)) overflowed.add(fresh);
    };
    fresh.onclose = () => lose(fresh, new Error('the connection was closed'));
    fresh.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
      tools = await listTools(fresh, config, logger).catch(() => tools);
    });
    client = fresh;
    failures = 0;
    logger.info({ server: name, tools: tools.length }, 'connected to an MCP server');
    return fresh;
  }

  function lose(gone: Client, error: unknown): void {
    if (drop(gone)) retryLater(error);
  }

  function drop(gone: Client): boolean {
    if (client !== gone) return false;
    client = undefined;
    void endQuietly(gone);
    return true;
  }

  function retryLater(error: unknown): void {
    if (closed) return;
    const waitMs = Math.min(firstRetryMs * 2 ** failures, longestRetryMs);
    failures += 1;
    logger.warn({ err: error, server: name, retryMs: waitMs }, 'an MCP server is not reachable');
    retry = setTimeout(connect, waitMs);
  }

  async function callWith(used: Client, { tool, args, signal, onProgress }: McpCall): Promise<unknown> {
    const request = { method: 'tools/call' as const, params: { name: tool, arguments: args } };
    const broken = Promise.withResolvers<never>();
    // A server that numbers its events can be asked for the rest of a stream; the SDK does so.
    let isResumable = false;
    const onBroken = (error: unknown) => {
      if (!isResumable || error instanceof AnswerTooLargeError) broken.reject(error);
    };
    const work = responseFailure.run(onBroken, () =>
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
    const used = client ?? (await connect());
    if (!used) throw unavailable(name);
    try {
      return await callWith(used, call);
    } catch (error) {
      if (!isUnknownSession(error)) throw loseIfUnavailable(used, error, call);
      drop(used);
    }
    const next = client ?? (await connect());
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
    const used = client;
    used?.ping({ timeout: connectTimeoutMs }).catch((error) => {
      if (!isAnswer(error)) lose(used, error);
    });
  }, pingEveryMs);

  return {
    config,
    tried: connect().then(() => undefined),
    tools: () => tools,
    call: (call) => (call.invocation === undefined ? callShared(call) : callAsUser(call)),
    async close() {
      closed = true;
      clearTimeout(retry);
      clearInterval(ping);
      const open = [client, pending];
      client = undefined;
      await Promise.all(open.map((one) => one && endQuietly(one)));
    },
  };
}

function createClient(): Client {
  return new Client({ name: 'palaver', version: '1.0.0' });
}

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
