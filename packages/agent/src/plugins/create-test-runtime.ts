import { randomUUID } from 'node:crypto';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { AppError, type Message, type SendMessageInput, type SseEvent } from '@palaver/contract';
import { createLogger, type Env, type Logger } from '@palaver/service-kit';
import { auditMigrations, createAuditLog, openStore, type Store } from '@palaver/store';
import { createSigner, deriveSigner } from '@palaver/ucan';
import { deriveKey } from '../auth/derive-key.ts';
import { createNoBroadcast } from '../cluster/broadcast.ts';
import { createBrowserCalls } from '../loop/browser-calls.ts';
import { createExecutor } from '../loop/create-executor.ts';
import type { ModelRole, Models } from '../models/create-models.ts';
import { createScriptedModel, type ScriptedStep } from '../models/scripted-model.ts';
import { createTurnHub } from '../run/turn-hub.ts';
import { createMessageStore } from '../store/messages.ts';
import { agentMigrations } from '../store/migrations.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createSessionStore, type OracleIdentity } from '../store/sessions.ts';
import { createSummaryStore } from '../store/summaries.ts';
import type { OraclePlugin, PluginContext } from './plugin.ts';
import { createBlobStore } from './runtime-context.ts';
import { type LoadedPlugin, type PluginHost, startPlugins } from './start-plugins.ts';

type ModelChoice = LanguageModelV4 | ScriptedStep[];

export interface TestRuntimeOptions {
  /** The environment the plugin's `configSchema` reads. */
  env?: Env;
  /** Plugins it depends on or works beside. */
  plugins?: OraclePlugin[];
  /** What the language model says, step by step, or a model of your own; by role where the roles differ. */
  model?: ModelChoice | Partial<Record<ModelRole, ModelChoice>>;
  /** A database of its own in memory unless given. */
  databaseUrl?: string;
  contextTokens?: number;
  logger?: Logger;
}

export interface TestTurn {
  /** The answer as it was stored. */
  message: Message;
  /** Every event of the turn in order. */
  events: SseEvent[];
}

export interface TestSend {
  /** One session per user unless named. */
  sessionId?: string;
  userDid?: string;
  timezone?: string;
  /** The other fields of a message, such as `tools`. */
  body?: Partial<SendMessageInput>;
}

export interface TestRuntime {
  plugins: Pick<PluginHost, 'status'> & { loaded: LoadedPlugin[] };
  ctx: PluginContext;
  store: Store<AgentDatabase>;
  createSession(userDid?: string): Promise<string>;
  /** Sends a message and waits for the answer: the same path as over HTTP, without the server. */
  send(text: string, options?: TestSend): Promise<TestTurn>;
  close(): Promise<void>;
}

const defaultUser = 'did:key:z6MkTestUser';

/** Runs a plugin without a server, for its own tests: a real database in memory, real turns, and a model that is scripted. */
export async function createTestRuntime(plugin: OraclePlugin, options: TestRuntimeOptions = {}): Promise<TestRuntime> {
  const logger = options.logger ?? createLogger({ name: 'test', level: 'silent' });
  const store = await openStore<AgentDatabase>(options.databaseUrl ?? 'file::memory:');
  await store.migrate('audit', auditMigrations);
  await store.migrate('agent', agentMigrations);
  const audit = createAuditLog(store, { service: 'agent', referenceKey: new Uint8Array(32) });
  const signer = await createSigner();
  const oracle: OracleIdentity = {
    name: 'Test agent',
    did: signer.did(),
    keyDid: signer.did(),
    signingDid: signer.did(),
  };
  const sessions = createSessionStore(store, oracle);
  const messages = createMessageStore(store);
  const models = toModels(options.model);
  const eventsOfRun = new Map<string, SseEvent[]>();
  const ownSessions = new Map<string, string>();

  async function createSession(userDid = defaultUser): Promise<string> {
    return (await sessions.create(userDid, {})).sessionId;
  }

  async function send(text: string, { userDid = defaultUser, timezone, body, ...named }: TestSend = {}) {
    const sessionId = named.sessionId ?? ownSessions.get(userDid) ?? (await createSession(userDid));
    if (named.sessionId === undefined) ownSessions.set(userDid, sessionId);
    const session = await sessions.find(userDid, sessionId);
    if (!session) throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
    const message = { stream: false, returnAllMessages: false, ...body, message: text };
    const sent = {
      sendId: randomUUID(),
      requestId: randomUUID(),
      model: models.list.default,
      secrets: {},
      blobs: createBlobStore(),
    };
    await plugins.beforeSend({ ...sent, userDid, sessionId, message });
    const run = await hub.submit({ ...sent, session, user: { did: userDid }, body: message, timezone });
    const answer = await run.answer;
    const events = eventsOfRun.get(run.runId) ?? [];
    eventsOfRun.delete(run.runId);
    return { message: answer, events };
  }

  const createContext = (config: Record<string, unknown>): PluginContext => ({
    config,
    logger,
    store,
    audit,
    oracle,
    models,
    llm: { get: models.get },
    sessions,
    deriveDid: async (label) => (await deriveSigner({ secret: Buffer.from(signer.toSecret()), label })).did(),
    deriveKey: (label) => deriveKey(signer.toSecret(), `plugin ${plugin.name} ${label}`),
    send: async ({ text, userDid, sessionId }) => (await send(text, { userDid, sessionId })).message,
  });
  const all = [...(options.plugins ?? []), plugin];
  const plugins = await startPlugins({
    plugins: all,
    // Given here means wanted, whatever the environment says.
    features: Object.fromEntries(all.map(({ name }) => [name, true])),
    manifestOverrides: {},
    env: options.env ?? {},
    logger,
    createContext: (_plugin, config) => createContext(config),
  }).catch(async (error) => {
    await audit.close();
    await store.close();
    throw error;
  });
  const hub = createTurnHub({
    runs: createRunStore(store),
    instance: randomUUID(),
    broadcast: createNoBroadcast(),
    logger,
    turnTimeoutMs: 60_000,
    execute: createExecutor({
      config: { LLM_TIMEOUT_MS: 10_000, LLM_CONTEXT_TOKENS: options.contextTokens ?? 100_000 },
      oracle,
      plugins,
      models,
      messages,
      summaries: createSummaryStore(store),
      signer,
      browserCalls: createBrowserCalls({ timeoutMs: 10_000, deliver: async () => false }),
      invalidate: () => undefined,
      onDelegationSent: async () => undefined,
      logger,
    }),
    onEvent({ runId }, event) {
      eventsOfRun.set(runId, [...(eventsOfRun.get(runId) ?? []), event]);
    },
    onEnd: () => undefined,
    onTurnEnd: plugins.onTurnEnd,
  });
  const ctx = plugins.loaded.find(({ name }) => name === plugin.name)?.ctx ?? createContext({});

  return {
    plugins,
    ctx,
    store,
    createSession,
    send,
    async close() {
      await hub.close(0);
      await plugins.close();
      await audit.close();
      await store.close();
    },
  };
}

function toModels(choice: TestRuntimeOptions['model'] = []): Models {
  const byRole: Partial<Record<ModelRole, ModelChoice>> =
    Array.isArray(choice) || 'doStream' in choice ? { main: choice } : choice;
  const toModel = (given: ModelChoice = []) => (Array.isArray(given) ? createScriptedModel(given) : given);
  const main = toModel(byRole.main);
  const roles: Record<ModelRole, LanguageModelV4> = {
    main,
    utility: byRole.utility ? toModel(byRole.utility) : main,
    subagent: byRole.subagent ? toModel(byRole.subagent) : main,
  };
  return {
    list: { models: [{ id: main.modelId, name: main.modelId }], default: main.modelId },
    get: (role) => roles[role],
    choose: () => main,
  };
}
