import { AppError } from '@palaver/contract';
import { toolNamePattern } from '@palaver/contract/internal';
import { type Logger, StartError } from '@palaver/service-kit';
import type { PublicRoute } from '../auth/auth-hook.ts';
import type { PendingSend, TurnEnd } from './middleware.ts';
import type { FileOwner, OraclePlugin, PluginContext, SentFile } from './plugin.ts';
import { type RuntimeContext, type ScheduledPrompt, ToolError } from './runtime-context.ts';
import { type LoadedPlugin, type SelectedPlugin, type SelectOptions, selectPlugins } from './select-plugins.ts';
import type { Tool } from './tool.ts';
import { toDeclared } from './tool-arguments.ts';

/** The tools by which the agent finds and loads plugins on demand; no plugin may have one of these names. */
export const capabilityTools = { list: 'list_capabilities', load: 'load_capability' } as const;

export type PluginHost = ReturnType<typeof createPluginHost>;

/** All faults are in one error, each with its plugin and remedy. */
export function createPluginHost(options: SelectOptions & { logger: Logger }) {
  const { selected, status, faults } = selectPlugins(options);
  if (faults.length > 0) throw new StartError(toMessage(faults));
  const loaded: LoadedPlugin[] = [];

  async function close(): Promise<void> {
    for (const { plugin, name } of loaded.splice(0).reverse()) {
      try {
        await plugin.teardown?.();
      } catch (error) {
        options.logger.error({ err: error, plugin: name }, 'a plugin did not end cleanly');
      }
    }
  }

  async function reportEnd(end: TurnEnd): Promise<void> {
    for (const { name, middlewares } of loaded) {
      for (const middleware of middlewares) {
        try {
          await middleware.onTurnEnd?.(end);
        } catch (error) {
          options.logger.error({ err: error, plugin: name, runId: end.runId }, 'a plugin failed at the end of a turn');
        }
      }
    }
  }

  return {
    /** Those that have started, in dependency order. */
    loaded,
    status: () => status,
    /** Where one cannot start, those before it end. */
    async start(createContext: (plugin: OraclePlugin, config: Record<string, unknown>) => PluginContext) {
      try {
        for (const entry of selected) loaded.push(await load(entry, createContext(entry.plugin, entry.config)));
        const clashes = checkPlugins(loaded);
        if (clashes.length > 0) throw new StartError(toMessage(clashes));
      } catch (error) {
        await close();
        throw error;
      }
    },
    publicRoutes: (): PublicRoute[] => loaded.flatMap(({ plugin }) => plugin.getAuthExcludedRoutes?.() ?? []),
    createShared(): Record<string, unknown> {
      const shared: Record<string, unknown> = {};
      for (const { plugin, name } of loaded) {
        try {
          for (const [key, create] of Object.entries(plugin.getSharedState?.() ?? {})) shared[key] = create();
        } catch (error) {
          options.logger.error({ err: error, plugin: name }, 'a plugin failed and was left out of this request');
        }
      }
      return shared;
    },
    async schedule(wanted: ScheduledPrompt, rt: RuntimeContext) {
      const planner = loaded.find(({ plugin }) => plugin.schedule)?.plugin;
      if (planner?.schedule) return planner.schedule(wanted, rt);
      throw new ToolError('TOOL_UNAVAILABLE', 'nothing can be scheduled here, because the plugin tasks is not loaded');
    },
    async keepFile(file: SentFile, owner: FileOwner) {
      const keeper = loaded.find(({ plugin }) => plugin.keepFile)?.plugin;
      if (keeper?.keepFile) return keeper.keepFile(file, owner);
      throw new AppError(
        'ATTACHMENT_FAILED',
        'Files are not taken here, because the plugin attachments is not loaded.',
      );
    },
    async beforeSend(send: PendingSend): Promise<void> {
      try {
        for (const { middlewares } of loaded) for (const middleware of middlewares) await middleware.beforeSend?.(send);
      } catch (error) {
        await reportEnd(toRefusal(send));
        throw error;
      }
    },
    async beforeResume(send: PendingSend): Promise<void> {
      for (const { middlewares } of loaded) for (const middleware of middlewares) await middleware.beforeResume?.(send);
    },
    onTurnEnd: reportEnd,
    close,
  };
}

async function load({ plugin, manifest }: SelectedPlugin, ctx: PluginContext): Promise<LoadedPlugin> {
  try {
    await migratePlugin(plugin, ctx.store);
    await plugin.setup?.(ctx);
    const tools = (await plugin.getTools?.(ctx)) ?? {};
    const subAgents = (await plugin.getSubAgents?.(ctx)) ?? [];
    const middlewares = (await plugin.getMiddlewares?.(ctx)) ?? [];
    return { name: plugin.name, plugin, manifest, ctx, tools, subAgents, middlewares };
  } catch (error) {
    if (error instanceof StartError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`plugin ${plugin.name} could not start: ${reason}`, { cause: error });
  }
}

export async function migratePlugin(plugin: OraclePlugin, store: Pick<PluginContext['store'], 'migrate'>) {
  if (plugin.migrations) await store.migrate(`agent-${plugin.name}`, plugin.migrations);
}

function toRefusal({ sendId, userDid, sessionId, model }: PendingSend): TurnEnd {
  const usage = { inputTokens: 0, outputTokens: 0 };
  return { sendId, userDid, sessionId, runId: undefined, model, status: 'refused', usage, usageByModel: {} };
}

function toMessage(faults: string[]): string {
  return `The plugins are not valid:\n${faults.map((fault) => `  ${fault}`).join('\n')}`;
}

function checkPlugins(loaded: LoadedPlugin[]): string[] {
  const tools = loaded.map((plugin) => ({ name: plugin.name, keys: toolNamesOf(plugin) }));
  const shared = loaded.map(({ name, plugin }) => ({ name, keys: Object.keys(plugin.getSharedState?.() ?? {}) }));
  return [
    ...findClashes([{ name: undefined, keys: Object.values(capabilityTools) }, ...tools], 'tool'),
    ...findClashes(shared, 'shared key'),
    ...loaded.flatMap(checkExamples),
    ...loaded.flatMap(checkDeclarations),
  ];
}

function toolNamesOf({ tools, subAgents }: LoadedPlugin): string[] {
  return [...Object.keys(tools), ...subAgents.map((agent) => agent.name)];
}

/** Model providers take names of letters, digits, _ and -, and arguments as JSON Schema. */
function checkDeclarations(plugin: LoadedPlugin): string[] {
  const badNames = toolNamesOf(plugin)
    .filter((name) => !toolNamePattern.test(name))
    .map((name) => `plugin ${plugin.name}: the tool name "${name}" must be 1 to 64 letters, digits, _ or -`);
  const all: [string, Tool][] = [
    ...Object.entries(plugin.tools),
    ...plugin.subAgents.flatMap(({ tools = {} }) => Object.entries(tools)),
  ];
  const badInputs = all.flatMap(([name, tool]) => {
    try {
      const { type, anyOf, oneOf, allOf } = toDeclared(tool).inputSchema;
      if (type !== 'object' || anyOf || oneOf || allOf) throw new Error('it is not one object');
      return [];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return [
        `plugin ${plugin.name}: model providers cannot read the inputSchema of the tool "${name}" (${reason}); use an object of plain types`,
      ];
    }
  });
  return [...badNames, ...badInputs];
}

function findClashes(owners: { name: string | undefined; keys: readonly string[] }[], what: string): string[] {
  const taken = new Map<string, string>();
  const faults: string[] = [];
  for (const { name, keys } of owners) {
    for (const key of keys) {
      const other = taken.get(key);
      if (other) faults.push(`plugin ${name}: the ${what} "${key}" is taken by ${other}; rename one`);
      else taken.set(key, name === undefined ? 'the runtime itself' : `plugin ${name}`);
    }
  }
  return faults;
}

function checkExamples(plugin: LoadedPlugin): string[] {
  const unknown = (plugin.manifest.examples ?? []).filter(({ tool }) => !toolNamesOf(plugin).includes(tool));
  return unknown.map(
    ({ tool }) => `plugin ${plugin.name}: an example names the tool "${tool}", which it does not have; name a real one`,
  );
}
