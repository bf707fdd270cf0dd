import { didPattern } from '@palaver/contract';
import { parseJson } from '@palaver/contract/internal';
import { z } from 'zod';

const expected = 'expected a JSON list such as [{"name":"files","url":"https://mcp.example/mcp"}]';

const serverSchema = z
  .object({
    /** The first half of its tools' names. */
    name: z
      .string()
      .regex(/^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$/, 'a name has letters and digits, with single - or _ in between')
      .max(32),
    url: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).optional(),
    /** Sent with every request, for a server that knows the agent by a key. */
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
  .refine(({ sign, did }) => sign === 'agent' || did !== undefined, {
    error: 'sign: "user" needs the did of the server',
  })
  .refine(({ url, command }) => (url === undefined) !== (command === undefined), { error: 'needs a url or a command' })
  .refine((server) => server.url !== undefined || server.protected === false, {
    error: 'only a server with a url can have protected tools',
  });

export type McpServerConfig = z.infer<typeof serverSchema>;

const listSchema = z
  .array(serverSchema)
  .max(32)
  .refine((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, {
    error: 'two servers have the same name',
  });

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
