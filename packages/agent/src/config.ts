import { agentLimits, defaultPorts, didPattern, ucanLimits } from '@palaver/contract';
import { gatewayVariables } from '@palaver/protocol/internal';
import { baseVariables, envBoolean, envInteger, envList, envUrl } from '@palaver/service-kit';
import { auditVariables, envCidrs, envOrigins } from '@palaver/service-kit/internal';
import { z } from 'zod';

const did = z.string().regex(didPattern, 'expected a DID such as did:key:z6Mk… or did:ixo:entity:…');

const doorNames = ['agui', 'ai-sdk', 'openai', 'a2a', 'mcp'] as const;
const modelId = z.string().max(200);

export const agentConfigSchema = z
  .object({
    ...baseVariables({ port: defaultPorts.agent }),
    ...auditVariables(),
    CORS_ORIGIN: envOrigins().prefault('*').meta({
      description: 'Origins whose pages may call the service: * (without credentials) or a list (with them).',
      example: 'https://app.example,https://admin.example',
    }),
    BODY_LIMIT_BYTES: envInteger({ min: 1024, max: 100 * 1024 * 1024 })
      .prefault(String(agentLimits.bodyBytes))
      .meta({ description: 'Largest request body in bytes.' }),
    DOORS: envList()
      .pipe(z.array(z.enum(doorNames, { error: `expected names out of ${doorNames.join(', ')}` })))
      .prefault(doorNames.join(','))
      .meta({
        description: 'The standard protocols by which clients reach the agent beside its own; empty for none.',
        example: 'openai,mcp',
      }),
    PUBLIC_URL: envUrl('http:', 'https:').optional().meta({
      description:
        'The address by which clients reach the service, in the documents that name it (agent card, OAuth metadata). If not set, the address of the request.',
      example: 'https://agent.example',
    }),
    ORACLE_NAME: z.string().max(80).prefault('Palaver').meta({
      description: 'What the agent calls itself.',
      example: 'Farm helper',
    }),
    ORACLE_PRIVATE_KEY: z
      .string()
      .optional()
      .meta({
        description:
          "The agent's Ed25519 key: 64 hex digits or multibase (Mg…). If not set, one is created at the first start and stored in DATA_DIR.",
        example: '4bd22700ec3450b5f27e47ba70c233a680c981ab02c1432a859ae23111bef377',
        secret: true,
        inProduction: (text: string | undefined, { isExposed }: { isExposed: boolean }) =>
          text === undefined && isExposed
            ? 'production that others reach needs a key of its own; make one with: openssl rand -hex 32'
            : undefined,
      }),
    ORACLE_DID: did.optional().meta({
      description: "The agent's DID. If not set, the did:key of its key.",
      example: 'did:key:z6MkwDK3M4PxU1FqcSt4quXghquH1MoWXGzTrNkNWTSy2NLD',
    }),
    ORACLE_ENTITY_DID: did.optional().meta({
      description: "The agent's entity on the protocol; tokens may have it as their audience too.",
      example: 'did:ixo:entity:abc123',
    }),
    UCAN_AUTH_MAX_TTL_SECONDS: envInteger({ min: 1, max: 86_400 * 365 })
      .prefault(String(ucanLimits.maxTtlSeconds))
      .meta({ description: 'Longest time until an invocation expires.' }),
    UCAN_DELEGATION_MAX_TTL_SECONDS: envInteger({ min: 1, max: 86_400 * 3650 })
      .prefault(String(ucanLimits.delegationMaxTtlSeconds))
      .meta({ description: 'Longest time until a delegation expires that signs its issuer in.' }),
    UCAN_ALLOW_DELEGATION_AUTH: envBoolean()
      .prefault('true')
      .meta({ description: 'Whether a delegation alone signs its issuer in.' }),
    DNS_SERVERS: envList().prefault('').meta({
      description:
        "Name servers for hosts that users name (did:web, Matrix homeservers), separated by commas. If not set, the machine's own.",
      example: '192.0.2.53,192.0.2.54:5353',
    }),
    GATEWAY_URL: envUrl('http:', 'https:').optional().meta({
      description: 'The query gateway: resolves protocol DIDs and answers the protocol-query plugin.',
      example: 'http://127.0.0.1:1317',
    }),
    GATEWAY_API_KEY: gatewayVariables.GATEWAY_API_KEY,
    GATEWAY_UCAN: gatewayVariables.GATEWAY_UCAN,
    GATEWAY_PREFIX: gatewayVariables.GATEWAY_PREFIX,
    SENDS_PER_MINUTE: envInteger({ min: 1, max: 1_000_000 })
      .prefault(String(agentLimits.sendsPerMinute))
      .meta({ description: 'Messages a user may send in a minute.' }),
    SESSIONS_PER_USER: envInteger({ min: 1, max: 10_000_000 })
      .prefault(String(agentLimits.sessionsPerUser))
      .meta({ description: 'Sessions a user may keep.' }),
    WRITES_PER_MINUTE_PER_ADDRESS: envInteger({ min: 1, max: 100_000_000 }).optional().meta({
      description:
        'Requests other than reads, handshakes of sockets and their events that one client address may send in a minute, whoever signs them, and KiB of its new tokens that are checked, 4096 at least. If not set, 20 times SENDS_PER_MINUTE.',
      example: '1200',
    }),
    SHARED_CLIENT_CIDRS: envCidrs().optional().meta({
      description:
        'Client addresses that many users share, such as that of a USSD service: limits per address do not apply to them.',
      example: '10.0.5.0/24',
    }),
    TURN_TIMEOUT_MS: envInteger({ min: 1_000, max: 86_400_000 })
      .prefault('600000')
      .meta({ description: 'Longest a turn may take, from the moment it was sent.' }),
    APPROVAL_TIMEOUT_MS: envInteger({ min: 1_000, max: 30 * 86_400_000 })
      .prefault(String(agentLimits.approvalTimeoutMs))
      .meta({ description: 'How long a tool call waits for the user to approve it. Then it counts as refused.' }),
    RUN_RETENTION_DAYS: envInteger({ min: 1, max: 36_500 })
      .prefault('90')
      .meta({ description: 'How long ended runs are kept; their messages stay with the session.' }),
    RETENTION_MESSAGES_DAYS: envInteger({ min: 0, max: 36_500 })
      .prefault('0')
      .meta({ description: 'Days that messages are kept; 0 keeps them until their user deletes the session.' }),
    RETENTION_SESSIONS_DAYS: envInteger({ min: 0, max: 36_500 }).prefault('0').meta({
      description:
        'Days that a session is kept after its last message, with its messages, summary and tasks; 0 keeps it until its user deletes it.',
    }),
    RETENTION_DELEGATIONS_DAYS: envInteger({ min: 1, max: 36_500 })
      .prefault('1')
      .meta({ description: 'Days that delegations and their revocations are kept after they expire.' }),
    BROWSER_TOOL_TIMEOUT_MS: envInteger({ min: 100, max: 3_600_000 })
      .prefault(String(agentLimits.browserToolTimeoutMs))
      .meta({ description: 'How long a tool on the page may take.' }),
    LLM_PROVIDER: z
      .enum(['offline', 'openai', 'anthropic', 'openrouter', 'compatible'], {
        error: 'expected offline, openai, anthropic, openrouter or compatible',
      })
      .prefault('offline')
      .meta({
        description:
          'Where the language model is. `offline` needs no network and no key; `compatible` is any server with an OpenAI-compatible API at LLM_BASE_URL.',
        example: 'openai',
      }),
    LLM_BASE_URL: envUrl('http:', 'https:').optional().meta({
      description: 'Address of an OpenAI-compatible server; setting it is enough to use it.',
      example: 'http://127.0.0.1:11434/v1',
    }),
    LLM_API_KEY: z
      .string()
      .optional()
      .meta({ description: 'Key of the language model provider.', example: 'sk-…', secret: true }),
    LLM_MODEL: modelId.optional().meta({ description: 'The model that answers.', example: 'gpt-5-mini' }),
    LLM_MODELS: envList().prefault('').meta({
      description: 'Further models a message may choose, separated by commas.',
      example: 'gpt-5,gpt-5-mini',
    }),
    LLM_FALLBACK_MODELS: envList().prefault('').meta({
      description:
        'Models of the same provider that are asked in this order while the one before cannot answer (429, 5xx), separated by commas.',
      example: 'gpt-5-mini,gpt-5-nano',
    }),
    LLM_UTILITY_MODEL: modelId
      .optional()
      .meta({ description: 'Model for small tasks such as summaries.', example: 'gpt-5-nano' }),
    LLM_SUBAGENT_MODEL: modelId.optional().meta({ description: 'Model of sub-agents.', example: 'gpt-5-mini' }),
    LLM_TIMEOUT_MS: envInteger({ min: 1_000, max: 3_600_000 })
      .prefault('60000')
      .meta({ description: 'Longest silence of the language model, before its first word and between words.' }),
    LLM_CONTEXT_TOKENS: envInteger({ min: 1_000, max: 10_000_000 })
      .prefault('100000')
      .meta({ description: 'How much of a conversation the model gets; older messages are summarised.' }),
    OFFLINE_WORDS_PER_SECOND: envInteger({ min: 1, max: 100_000 })
      .prefault('40')
      .meta({ description: 'Speed of the offline model’s `/long N`.' }),
  })
  .superRefine((config, context) => {
    const needsKey =
      ['openai', 'anthropic', 'openrouter'].includes(config.LLM_PROVIDER) && config.LLM_BASE_URL === undefined;
    if (needsKey && config.LLM_API_KEY === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['LLM_API_KEY'],
        message: `LLM_PROVIDER=${config.LLM_PROVIDER} needs a key`,
      });
    }
    if (config.LLM_PROVIDER === 'compatible' && config.LLM_BASE_URL === undefined) {
      context.addIssue({ code: 'custom', path: ['LLM_BASE_URL'], message: 'LLM_PROVIDER=compatible needs an address' });
    }
  });

/**
 * The agent's own variables, for the `configSchema` of a plugin that reads some of them too.
 *
 * @example
 * ```ts
 * import { agentVariables } from '@palaver/agent';
 * import { z } from 'zod';
 *
 * export const configSchema = z.object({ DATA_DIR: agentVariables.DATA_DIR });
 * ```
 */
export const agentVariables = agentConfigSchema.shape;

export type AgentConfig = Readonly<z.infer<typeof agentConfigSchema>>;

export const writesPerMinute = (config: AgentConfig): number =>
  config.WRITES_PER_MINUTE_PER_ADDRESS ?? config.SENDS_PER_MINUTE * agentLimits.writesPerSend;
