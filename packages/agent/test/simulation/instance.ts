import { randomUUID } from 'node:crypto';
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { CloseStack, createLogger, loadConfig } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { createAuditLog } from '@palaver/store/internal';
import { createSigner } from '@palaver/ucan';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { createTaskRunner } from '../../../agent-plugins/src/tasks/tasks-runner.ts';
import { createTaskStore, type TaskDatabase, type TaskStore } from '../../../agent-plugins/src/tasks/tasks-store.ts';
import type { Database } from '../../../store/test/simulation/database.ts';
import type { createGuard } from '../../../store/test/simulation/outcome.ts';
import type { Process, World } from '../../../store/test/simulation/world.ts';
import { createIdentity } from '../../src/app/create-identity.ts';
import { type AgentTurns, createTurns } from '../../src/app/create-turns.ts';
import { type Cluster, createCluster } from '../../src/cluster/create-cluster.ts';
import { agentConfigSchema } from '../../src/config.ts';
import type { OpenMessage } from '../../src/define/agent-run.ts';
import { defineOraclePlugin, type RuntimeContext, type TurnEnd, tool } from '../../src/index.ts';
import type { Models } from '../../src/models/create-models.ts';
import type { AgentDatabase } from '../../src/store/schema.ts';

export interface Instance {
  process: Process;
  cluster: Cluster;
  turns: AgentTurns;
  tasks: TaskStore;
  /** Stops as at the end of a deployment. */
  close(): Promise<void>;
}

/** What the tools and the plugin report to the checks. */
export interface Witness {
  toolStarts(call: ToolStart): void;
  turnEnds(end: TurnEnd): void;
}

export interface ToolStart {
  /** The message that asked for it. */
  tag: string;
  name: string;
  isAborted: boolean;
}

const logger = createLogger({ name: 'simulation', level: 'silent' });
const signer = await createSigner();
const config = loadConfig(agentConfigSchema, {
  ORACLE_NAME: 'Simulated agent',
  SENDS_PER_MINUTE: '100000',
  LLM_TIMEOUT_MS: '10000',
  LLM_CONTEXT_TOKENS: '100000',
  TURN_TIMEOUT_MS: '60000',
  APPROVAL_TIMEOUT_MS: '20000',
});

/** Its caches are large, and nothing of a run is in them: one serves all processes. */
export const openIdentity = (database: Database<AgentDatabase>) =>
  createIdentity({ config, store: database.openStore('identity'), signer }, new CloseStack());

/** One process of the agent: its real turns on the simulated database, Redis, model and tools. */
export async function startInstance(
  parts: {
    world: World;
    database: Database<AgentDatabase>;
    identity: ReturnType<typeof createIdentity>;
    broker: Broker;
    witness: Witness;
    guard: Pick<ReturnType<typeof createGuard>, 'run'>;
    /** Whether tasks are scheduled: looking for them is a third of all queries. */
    hasTasks: boolean;
    /** Called before anything is written. */
    own(instance: string, process: string): void;
  },
  process: Process,
): Promise<Instance> {
  const { world, database, broker, guard } = parts;
  const witness: Witness = {
    toolStarts: (call) => guard.run(() => parts.witness.toolStarts(call)),
    turnEnds: (end) => guard.run(() => parts.witness.turnEnds(end)),
  };
  const started = new CloseStack();
  const store = database.openStore();
  const audit = createAuditLog(store, {
    service: 'agent',
    referenceKey: Buffer.from(signer.toSecret()),
    retentionDays: 0,
  });
  started.defer(() => audit.close());
  const identity = { ...parts.identity, audit };
  const redis = broker.connect(process);
  const cluster = createCluster({ store, databaseUrl: '', redis, logger, isAlone: false, heartbeatMs: 4_000 });
  started.defer(() => cluster.close());
  parts.own(cluster.instance, process.name);
  const plugin = createPlugin(world, witness);
  const turns = await createTurns(
    {
      config,
      logger,
      store,
      identity,
      cluster,
      redis: undefined,
      turnGraceMs: 2_000,
      models: createModels(world),
      plugins: [plugin],
      features: { work: true },
      manifestOverrides: {},
      env: {},
    },
    started,
  );
  await turns.start();
  const tasks = createTaskStore(store as unknown as Store<TaskDatabase>, (client) => client);
  const runner = createTaskRunner({
    tasks,
    logger,
    pollMs: 3_000,
    instance: cluster.instance,
    open: (message) => turns.access.open(message as OpenMessage),
  });
  if (parts.hasTasks) runner.start();
  started.defer(() => runner.stop());
  return { process, cluster, turns, tasks, close: () => started[Symbol.asyncDispose]() };
}

/** What each call of the model is charged. */
export const tokensPerCall = 10;
/** Words of a message that are tools; the model calls them in this order, then it answers. */
export const toolNames = ['look', 'pay', 'sign'] as const;

/** Compiled once: for each process it would be a tenth of the time of a seed. */
const inputSchema = z.object({ tag: z.string() });

function createPlugin(world: World, witness: Witness) {
  const work = (name: string, repeatable: boolean, needsApproval: boolean) =>
    tool({
      description: name,
      inputSchema,
      repeatable,
      needsApproval,
      async execute({ tag }: { tag: string }, { abortSignal }: RuntimeContext) {
        witness.toolStarts({ tag, name, isAborted: abortSignal.aborted });
        await world.wait(world.oneIn(4) ? world.between(0, 12_000) : world.latency());
        if (world.oneIn(12)) throw new Error('the tool fails');
        return { done: name };
      },
    });
  return defineOraclePlugin({
    name: 'work',
    version: '1.0.0',
    manifest: { title: 'Work', summary: 'Works.', whenToUse: ['work'], visibility: 'always', stability: 'stable' },
    getTools: () => ({
      look: work('look', true, false),
      pay: work('pay', false, false),
      sign: work('sign', false, true),
    }),
    getMiddlewares: () => [{ onTurnEnd: async (end) => witness.turnEnds(end) }],
  });
}

function createModels(world: World): Models {
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'simulated',
    modelId: 'simulated',
    supportedUrls: {},
    async doStream({ prompt }) {
      await world.wait(world.latency());
      if (world.oneIn(40)) throw new Error('the model fails');
      const parts = toParts(prompt);
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>(
          {
            async pull(controller) {
              const part = parts.shift();
              if (!part) return controller.close();
              if (part.type === 'text-delta')
                await world.wait(world.oneIn(30) ? world.between(0, 12_000) : world.latency());
              controller.enqueue(part);
            },
          },
          { highWaterMark: 0 },
        ),
      };
    },
    async doGenerate() {
      throw new Error('nothing is summarised in so short a conversation');
    },
  };
  return {
    list: { models: [{ id: model.modelId, name: model.modelId }], default: model.modelId },
    get: () => model,
    choose: () => model,
    resolve: () => model,
    fallbacks: [],
  };
}

/** The name of a message, which is also in what its tools are called with. */
export const tagOf = (text: string): string => /#\w+/.exec(text)?.[0] ?? '';

/** What the model says next to the last message, which names the tools to call. */
function toParts(prompt: LanguageModelV4Prompt): LanguageModelV4StreamPart[] {
  const asked = prompt.findLastIndex(({ role }) => role === 'user');
  const content = prompt[asked]?.content;
  const text = Array.isArray(content) ? content.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
  const tag = tagOf(text);
  const words = text.split(' ');
  const calls = words.filter((word) => (toolNames as readonly string[]).includes(word));
  const name = calls[prompt.slice(asked + 1).filter(({ role }) => role === 'tool').length];
  const say = (delta: string): LanguageModelV4StreamPart => ({ type: 'text-delta', id: 't', delta });
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: 't' },
    say('so '),
    say('it is'),
    { type: 'text-end', id: 't' },
    ...(name === undefined
      ? []
      : [{ type: 'tool-call' as const, toolCallId: randomUUID(), toolName: name, input: JSON.stringify({ tag }) }]),
    {
      type: 'finish',
      finishReason: { unified: name === undefined ? 'stop' : 'tool-calls', raw: undefined },
      usage: {
        inputTokens: { total: tokensPerCall, noCache: tokensPerCall, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 5, text: 5, reasoning: 0 },
      },
    },
  ];
}

export type Broker = ReturnType<typeof createBroker>;

/** Redis as the broadcast uses it. Messages are late, or lost. */
export function createBroker(world: World, loss: () => boolean) {
  const subscribers = new Map<Process, (text: string) => void>();
  return {
    connect(process: Process): Redis {
      const handlers = new Map<string, (...given: unknown[]) => void>();
      const subscriber = {
        on: (name: string, handle: (...given: unknown[]) => void) => void handlers.set(name, handle),
        async connect() {
          handlers.get('ready')?.();
        },
        async subscribe(channel: string) {
          subscribers.set(process, (text) => handlers.get('message')?.(channel, text));
        },
        disconnect: () => void subscribers.delete(process),
      };
      return {
        status: 'ready',
        duplicate: () => subscriber,
        async publish(_channel: string, text: string) {
          for (const [to, deliver] of subscribers) {
            if (loss() || Math.max(process.cutOffUntil, to.cutOffUntil) > world.now()) continue;
            world.after(world.latency(), () => deliver(text), to);
          }
        },
      } as unknown as Redis;
    },
  };
}
