// Every bound of the wire interface, once. This module stays free of zod so that clients can import it for nothing.

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/**
 * Limits of the USSD gateway.
 *
 * @example
 * ```ts
 * import { ussdLimits } from '@palaver/contract';
 *
 * export const fits = (screen: string) => [...screen].length <= ussdLimits.screenCharacters;
 * ```
 */
export const ussdLimits = {
  sessionIdCharacters: 100,
  serviceCodeCharacters: 32,
  /** Code points of the accumulated input. */
  textCharacters: 182,
  /** Code points of a reply after its `CON ` or `END ` prefix. */
  screenCharacters: 182,
  bodyBytes: 16 * kibibyte,
  requestsPerMinute: 100,
  sessionTimeoutSeconds: 180,
  /** How long replies, effect keys and the binding of a session to its phone number are kept. */
  retentionHours: 24,
  pinMinDigits: 4,
  pinMaxDigits: 6,
  pinAttempts: 3,
  /** Wrong PINs in all since the last change, after which only an operator unlocks the account (NIST SP 800-63B). */
  pinFailuresInAll: 100,
} as const;

/**
 * Limits of the agent service.
 *
 * @example
 * ```ts
 * import { agentLimits } from '@palaver/contract';
 *
 * export const isTooLong = (message: string) => [...message].length > agentLimits.messageCharacters;
 * ```
 */
export const agentLimits = {
  /** Code points. */
  messageCharacters: 32_000,
  titleCharacters: 200,
  bodyBytes: mebibyte,
  sendsPerMinute: 60,
  /** Requests that store something, of one client address, for each send that a user has. */
  writesPerSend: 20,
  sessionsPerUser: 10_000,
  /** JSON of the metadata of a message or a session. */
  metadataBytes: 8 * kibibyte,
  /** What a session may take along from the one that it is forked from: a fork stores no more than a large request. */
  forkMessages: 2_000,
  forkBytes: mebibyte,
  /** What all sessions of a user were created with: metadata, and what forks took along. */
  initialBytes: 32 * mebibyte,
  queuedTurnsPerSession: 8,
  /** Runs of one instance that have not ended: of a user, of a client address, and in all. */
  liveRunsPerUser: 200,
  liveRunsPerClient: 400,
  liveRuns: 2_000,
  /** Beside them, runs that wait for their user. */
  waitingRunsPerClient: 500,
  waitingRuns: 5_000,
  /** Requests that only read, of one client address, for each that writes. */
  readsPerWrite: 5,
  attachments: 10,
  // Matrix homeservers and the contract count megabytes by 1,000,000.
  attachmentBytes: 25_000_000,
  attachmentsBytes: 50_000_000,
  /** Uploads of one user in 24 hours. */
  filesPerDay: 200,
  fileBytesPerDay: 500_000_000,
  /** Browser tools, AG-UI actions and MCP invocations one message may declare, each. */
  declaredTools: 128,
  /** Stored delegations of one user that have not expired and are not revoked; and revocations of those never seen. */
  delegations: 1_000,
  /** With those that were revoked or sent to other services. */
  delegationRecords: 10_000,
  /** Of their tokens together, encrypted: a usual one has one KiB. */
  delegationBytes: 2 * mebibyte,
  /** Characters of an encoded invocation or delegation. */
  tokenCharacters: 64 * kibibyte,
  /** The earlier conversation that a caller sends, one of its tools with its JSON Schema, and all of them. */
  earlierMessages: 400,
  earlierCalls: 1_000,
  earlierBytes: 512 * kibibyte,
  callerToolBytes: 32 * kibibyte,
  callerToolsBytes: 256 * kibibyte,
  callerToolsValues: 10_000,
  toolResultBytes: 256 * kibibyte,
  toolArgumentsBytes: 256 * kibibyte,
  toolArgumentsDepth: 64,
  /** How far the schema of a page's or an MCP server's tool is read for one call. */
  toolSchemaSteps: 10_000,
  browserToolTimeoutMs: 30_000,
  approvalTimeoutMs: 3_600_000,
  approvalReasonCharacters: 1_000,
  /** Approvals that one user may leave unanswered at a time. */
  pendingApprovalsPerUser: 100,
  handshakeTimeoutMs: 10_000,
  /** Of one instance: each receives every event of the session. */
  socketsPerSession: 100,
  /** Requests of one instance that are being answered, streams included: of a user, of a client address, and in all. */
  repliesPerUser: 200,
  repliesPerClient: 2_000,
  replies: 4_000,
  /** Sockets of one instance. */
  socketsPerUser: 200,
  socketsPerClient: 4_000,
  sockets: 8_000,
  /** Of packets from one client address: parsing the worst of them takes a second. */
  socketKibPerMinute: 16 * kibibyte,
  heartbeatMs: 15_000,
  endedRunRetentionMs: 5 * 60_000,
  reauthorizePromptIntervalMs: 6 * 3_600_000,
} as const;

export const preferenceLimits = { textCharacters: 80, customInstructionsCharacters: 2_000 } as const;

export const memoryLimits = { textCharacters: 2_000, queryCharacters: 500, count: 1_000 } as const;

export const pageLimits = { min: 1, max: 100, default: 20 } as const;

/**
 * Limits of UCAN tokens.
 *
 * @example
 * ```ts
 * import { ucanLimits } from '@palaver/contract';
 *
 * export const latestExpiration = () => Math.floor(Date.now() / 1000) + ucanLimits.maxTtlSeconds;
 * ```
 */
export const ucanLimits = {
  maxTtlSeconds: 900,
  /** How far ahead a delegation that signs in may expire. */
  delegationMaxTtlSeconds: 30 * 86_400,
  clockSkewSeconds: 30,
  resolveTimeoutMs: 3_000,
  /** DID documents that unverified tokens of one client address may cause to be fetched. */
  lookupsPerMinute: 30,
  lookupsUnderwayPerClient: 4,
  /** Values (keys included) and capabilities in a token and its proofs: what it costs to read and to verify. */
  tokenItems: 1_500,
  tokenCapabilities: 128,
  /** KiB of tokens not seen before that one client address may have checked in a minute. */
  checkedKibPerMinute: 4_096,
} as const;

export const requestIdMaxCharacters = 128;

export const shutdownTimeoutMs = 10_000;

/**
 * The default port of each service.
 *
 * @example
 * ```ts
 * import { defaultPorts } from '@palaver/contract';
 *
 * export const agentUrl = `http://127.0.0.1:${defaultPorts.agent}`;
 * ```
 */
export const defaultPorts = { ussd: 3000, agent: 4000, gateway: 1317, devnode: 9090, console: 8080 } as const;
