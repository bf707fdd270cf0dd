import { randomUUID } from 'node:crypto';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Approval, Message, SseEvent } from '@palaver/contract';
import type { SendMessageInput } from '@palaver/contract/internal';
import { CloseStack, createLogger, type Env, keepOpen, type Logger, loadConfig } from '@palaver/service-kit';
import { openStore, type Store } from '@palaver/store';
import { createSigner } from '@palaver/ucan';
import { createCluster } from '../cluster/create-cluster.ts';
import { agentConfigSchema } from '../config.ts';
import type { OraclePlugin, PluginContext } from '../define/plugin.ts';
import type { LoadedPlugin } from '../define/select-plugins.ts';
import type { PluginHost } from '../define/start-plugins.ts';
import type { ModelRole, Models } from '../models/create-models.ts';
import { createScriptedModel, type ScriptedStep } from '../models/scripted-model.ts';
import { migrateAgentTables } from '../store/migrate.ts';
import type { AgentDatabase } from '../store/schema.ts';
import type { AgentBehaviour } from '../turn/behaviour.ts';
import { type AgentCalls, createCalls } from './calls.ts';
import { type OracleAppOptions, toOwnPlugin } from './create-agent.ts';
import { createIdentity } from './create-identity.ts';
import { createTurns } from './create-turns.ts';

type ModelChoice = LanguageModelV4 | ScriptedStep[];

/** How a plugin is run in its tests. */
export interface TestRuntimeOptions
  extends Omit<AgentBehaviour, 'model'>,
    Pick<OracleAppOptions, 'tools' | 'features' | 'manifestOverrides'> {
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

/** The turn of a test: its events and its stored answer. */
export interface TestTurn {
  message: Message;
  events: SseEvent[];
}

/** What goes with a message of a test. */
export interface TestSend {
  /** One session per user unless named. */
  sessionId?: string;
  userDid?: string;
  timezone?: string;
  /** The other fields of a message, such as `tools`. */
  body?: Partial<SendMessageInput>;
  /** Answers what tools ask the user to approve; without it they are refused. */
  approve?(approval: Approval): boolean;
}

/** A plugin that runs without a server, for its own tests. */
export interface TestRuntime<Tables = unknown> extends AgentCalls {
  plugins: Pick<PluginHost, 'status'> & { loaded: LoadedPlugin[] };
  ctx: PluginContext;
  /** The agent's tables, and those of the plugin where their types are named. */
  store: Store<AgentDatabase & Tables>;
  createSession(userDid?: string): Promise<string>;
  /** Sends a message and waits for the answer: the same path as over HTTP, without the server. */
  send(text: string, options?: TestSend): Promise<TestTurn>;
  close(): Promise<void>;
}

const defaultUser = 'did:key:z6MkTestUser';

/**
 * Runs a plugin or an agent's own tools without a server: a database in memory, real turns, a scripted model.
 *
 * @example
 * ```ts
 * import type { OraclePlugin } from '@palaver/agent';
 * import { createTestRuntime } from '@palaver/agent';
 *
 * declare const herd: OraclePlugin;
 * const runtime = await createTestRuntime(herd, { model: [{ text: 'Twelve.' }] });
 * await runtime.send('how many goats?');
 * await runtime.close();
 * ```
 */
export async function createTestRuntime<Tables = unknown>(
  tested: OraclePlugin | TestRuntimeOptions,
  given?: TestRuntimeOptions,
): Promise<TestRuntime<Tables>> {
  const options = given ?? ('manifest' in tested ? {} : tested);
  const own = toOwnPlugin(options.tools ?? ('manifest' in tested ? undefined : {}));
  const plugin = 'manifest' in tested ? tested : (own[0] as OraclePlugin);
  await using started = new CloseStack();
  const logger = options.logger ?? createLogger({ name: 'test', level: 'silent' });
  const databaseUrl = options.databaseUrl ?? 'file::memory:';
  const store = await openStore<AgentDatabase>(databaseUrl);
  started.defer(() => store.close());
  await migrateAgentTables(store);
  const config = loadConfig(agentConfigSchema, {
    ORACLE_NAME: 'Test agent',
    SENDS_PER_MINUTE: '100000',
    LLM_TIMEOUT_MS: '10000',
    LLM_CONTEXT_TOKENS: String(options.contextTokens ?? 100_000),
  });
  const identity = createIdentity({ config, store, signer: await createSigner() }, started);
  const cluster = createCluster({ store, databaseUrl, redis: undefined, logger });
  started.defer(() => cluster.close());
  const all = [...new Set([...(options.plugins ?? []), ...own, plugin])];
  const turns = await createTurns(
    {
      config,
      logger,
      store,
      identity,
      cluster,
      models: toModels(options.model),
      plugins: all,
      // Given here means wanted, whatever the environment says.
      features: { ...Object.fromEntries(all.map(({ name }) => [name, true])), ...options.features },
      manifestOverrides: options.manifestOverrides ?? {},
      behaviour: { ...options, model: undefined },
      env: options.env ?? {},
      redis: undefined,
      turnGraceMs: 0,
    },
    started,
  );
  await turns.start();
  const loaded = turns.plugins.loaded.find(({ name }) => name === plugin.name);
  if (!loaded) throw new Error(`plugin ${plugin.name} was not loaded`);
  const ownSessions = new Map<string, string>();

  async function createSession(userDid = defaultUser): Promise<string> {
    return (await turns.sessions.create(userDid, {})).sessionId;
  }

  async function send(text: string, options: TestSend = {}): Promise<TestTurn> {
    const { userDid = defaultUser, timezone, body, approve = () => false, ...named } = options;
    const sessionId = named.sessionId ?? ownSessions.get(userDid) ?? (await createSession(userDid));
    if (named.sessionId === undefined) ownSessions.set(userDid, sessionId);
    const message = { stream: false, returnAllMessages: false, ...body, message: text };
    const run = await turns.access.open({ userDid, sessionId, requestId: randomUUID(), body: message, timezone });
    const events: SseEvent[] = [];
    for await (const { id: _, ...event } of run.events()) {
      if (event.name === 'approval_request' && event.data.status === 'pending') {
        const { runId, approvalId } = event.data;
        await turns.access.answerApproval({ userDid, runId, approvalId, approved: approve(event.data) });
      }
      if (event.name !== 'done') events.push(event);
    }
    return { message: await run.answer(), events };
  }

  const ownStore = store as unknown as Store<AgentDatabase & Tables>;
  const calls = createCalls({ ...turns, oracle: identity.oracle });
  const { plugins } = turns;
  return { plugins, ctx: loaded.ctx, store: ownStore, createSession, send, close: keepOpen(started), ...calls };
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
    fallbacks: [],
    resolve: (id) => Object.values(roles).find(({ modelId }) => modelId === id) ?? main,
  };
}
