import type { Approval, Message } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { AuditLog, Store } from '@palaver/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ModelRole, Models } from '../models/create-models.ts';
import type { ApprovalAnswer } from '../store/approvals.ts';
import type { MessageStore } from '../store/messages.ts';
import type { OracleIdentity, SessionStore } from '../store/sessions.ts';
import type { AgentRun, OpenMessage, RunQuery, RunSummary, Sender } from './agent-run.ts';
import type { RuntimeContext } from './runtime-context.ts';
import type { PublicTool } from './tool.ts';

// biome-ignore lint/suspicious/noExplicitAny: a function that takes any plugin's context does not name its tables.
type AnyTables = any;

/**
 * What a plugin gets once, when the application starts. `Config` is the type of its `configSchema`.
 *
 * @example
 * ```ts
 * import type { PluginContext } from '@palaver/agent';
 *
 * export const hello = (ctx: PluginContext) => `${ctx.oracle.name} keeps ${ctx.models.list.models.length} models`;
 * ```
 */
export interface PluginContext<Config = Record<string, unknown>, Tables = AnyTables, Shared = Record<string, unknown>> {
  config: Config;
  logger: Logger;
  store: Store<Tables>;
  /** Records what an auditor asks about; with a transaction, together with it. */
  audit: Pick<AuditLog<Tables>, 'record' | 'person'>;
  oracle: OracleIdentity;
  models: Models;
  /** `rt.shared` with the types of what `getSharedState` gives. */
  shared(rt: RuntimeContext): Shared;
  llm: { get(role: ModelRole): ReturnType<Models['get']> };
  sessions: Pick<
    SessionStore,
    'create' | 'find' | 'findNamed' | 'findOrCreate' | 'list' | 'metadataOf' | 'nameOf' | 'remove' | 'removeUnused'
  >;
  messages: Pick<MessageStore, 'find' | 'list' | 'last'>;
  /** The DID of a user without a key, such as a user of a chat platform; always the same for the same label. */
  deriveDid(label: string): Promise<string>;
  /** 32 secret bytes of this agent and plugin alone: always the same for the same label, so that they need not be kept. */
  deriveKey(label: string): Buffer;
  /**
   * Sends a message into a session as if its user had, and resolves with the answer; rejects with an `AppError` where it is
   * not taken in, and with `UNAVAILABLE` where this process stopped in the middle.
   */
  send(message: {
    userDid: string;
    sessionId: string;
    text: string;
    requestId: string;
    timezone?: string | undefined;
  }): Promise<Message>;
  /**
   * Begins a run and gives it as a stream of events. Everything that is refused (session, model, send limit, credits) is
   * refused here with an `AppError`, before the first event.
   */
  open(message: OpenMessage): Promise<AgentRun>;
  /** A run of this user that was begun before; `RUN_NOT_FOUND` for one of another user. */
  resume(run: { userDid: string; runId: string }): Promise<AgentRun>;
  /** The runs of a user, and how many there are on all pages. */
  listRuns(query: RunQuery): Promise<{ runs: RunSummary[]; total: number }>;
  /** Answers an approval of a run of this user; `APPROVAL_ANSWERED` where it has another answer already. */
  answerApproval(answer: ApprovalAnswer): Promise<Approval>;
  /** The tools of all plugins that are marked public, as other agents are shown them. */
  publicTools(): PublicTool[];
  /** The run of a session that is in flight, if this user has one there. */
  liveRun(session: { userDid: string; sessionId: string }): Promise<AgentRun | undefined>;
  /** A user's room with this agent: one for the pair, whatever the session. */
  roomOf(userDid: string): string;
  /** The address by which clients reach this service: `PUBLIC_URL`, else what the request itself was sent to. */
  urlOf(request: FastifyRequest): string;
  /** The client address of a request as limits count it; undefined for one that many users share (`SHARED_CLIENT_CIDRS`). */
  clientKey(request: FastifyRequest): string | undefined;
  /** The caller of a protected route as the sender of a message; sets the `RateLimit-*` headers of its reply. */
  senderOf(request: FastifyRequest, reply: FastifyReply): Sender;
}
