import { AsyncLocalStorage } from 'node:async_hooks';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ToolError } from '@palaver/agent';
import { didPattern } from '@palaver/contract';
import { parseJson } from '@palaver/contract/internal';
import { type Logger, traceHeaders } from '@palaver/service-kit';
import { limitResponses } from '@palaver/service-kit/internal';
import { z } from 'zod';

const expected = 'expected a JSON list such as [{"name":"files","url":"https://mcp.example/mcp"}]';

const serverSchema = z
  .object({
    name: z
      .string()
      .regex(/^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$/, 'a name has letters and digits, with single - or _ in between')
      .max(32),
    url: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).optional(),
    headers: z.record(z.string(), z.string()).default({}),
    command: z.string().min(1).optional(),
    args: z.array(z.string()).default([]),
    env: z.record(z.string(), z.string()).default({}),
    /** Whether its tools (all, or those named) are called with the user's own invocation. */
    protected: z.union([z.boolean(), z.array(z.string())]).default(false),
    /** With it, the server is the audience of invocations of protected tools, under the user's delegation. */
    did: z.string().regex(didPattern, 'expected a DID').optional(),
    /** Who signs invocations of protected tools: the agent, under the user's delegation, or the user. */
    sign: z.enum(['agent', 'user']).default('agent'),
    /** Which of its tools run only once the user approves: all but those that say they only read, all, none, or those named. */
    approval: z.union([z.enum(['writes', 'always', 'never']), z.array(z.string())]).default('writes'),
  })
  .refine(({ sign, did }) => sign === 'agent' || did !== undefined, 'sign: "user" needs the did of the server')
  .refine(({ url, command }) => (url === undefined) !== (command === undefined), { error: 'needs a url or a command' })
  .refine((server) => server.url !== undefined || server.protected === false, {
    error: 'only a server with a url can have protected tools',
  });

export type McpServerConfig = z.infer<typeof serverSchema>;

const listSchema = z
  .array(serverSchema)
  .max(32)
  .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'two servers have the same name');

export const mcpConfigSchema = z.object({
  MCP_SERVERS: z
    .string()
    .transform((text, context) => {
      const result = listSchema.safeParse(parseJson(text));
      if (result.success) return result.data;
      const [issue] = result.error.issues;
      const where = issue?.path.length ? `${issue.path.join('.')}: ` : '';
      context.addIssue({ code: 'custom', message: `${expected}; ${where}${issue?.message}` });
      return z.NEVER;
    })
    .prefault('[]')
    .meta({
      description:
        'MCP servers whose tools the agent may use, as a JSON list: name, url or command with args, protected, did, sign, approval.',
      example: '[{"name":"files","url":"https://mcp.example/mcp","protected":true}]',
      secret: true,
    }),
});

/** Bytes of one result. It may hold pictures, of which the model only learns that they are there. */
const resultBytes = 8 * 1024 * 1024;
/** Bytes of all results that are read at a time; each is in memory a few times while it is parsed. */
const allResultBytes = 32 * 1024 * 1024;

interface ReadingCall {
  /** Takes the error of a response that breaks off while it is read: the SDK reports it to nobody who waits for the result. */
  fail(error: unknown): void;
  /** Counts bytes of the response; throws if too many are being read. */
  take(bytes: number): void;
}

export const readingCall = new AsyncLocalStorage<ReadingCall>();

let readBytes = 0;

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

/** With an invocation every request is made in the user's name, and in that alone. */
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
    return new Response(readable, response);
  };
}
