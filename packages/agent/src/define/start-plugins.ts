import { type Logger, StartError } from '@palaver/service-kit';
import type { PublicRoute } from '../auth/auth-hook.ts';
import { checkPlugins } from './check-plugins.ts';
import type { PendingSend, TurnEnd } from './middleware.ts';
import type { OraclePlugin } from './plugin.ts';
import type { PluginContext } from './plugin-context.ts';
import type { LoadedPlugin } from './select-plugins.ts';
import { type PluginStatus, type SelectedPlugin, type SelectOptions, selectPlugins } from './select-plugins.ts';

export interface PluginHost {
  /** Those that have started, in dependency order. */
  loaded: LoadedPlugin[];
  status(): PluginStatus[];
  /** Starts one after the other. Where one cannot, those before it end. */
  start(createContext: (plugin: OraclePlugin, config: Record<string, unknown>) => PluginContext): Promise<void>;
  publicRoutes(): PublicRoute[];
  /** First values of the shared state of a request. */
  createShared(): Record<string, unknown>;
  /** Asks every plugin whether a message may be taken in; the first that says no throws. */
  beforeSend(send: PendingSend): Promise<void>;
  beforeResume(send: PendingSend): Promise<void>;
  /** Notifies every plugin how it ended. */
  onTurnEnd(end: TurnEnd): Promise<void>;
  close(): Promise<void>;
}

/** The plugins that are to be loaded. All faults are in one error, each with its plugin and remedy. */
export function createPluginHost(options: SelectOptions & { logger: Logger }): PluginHost {
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
    loaded,
    status: () => status,
    async start(createContext) {
      try {
        for (const entry of selected) loaded.push(await load(entry, createContext(entry.plugin, entry.config)));
        const clashes = checkPlugins(loaded);
        if (clashes.length > 0) throw new StartError(toMessage(clashes));
      } catch (error) {
        await close();
        throw error;
      }
    },
    publicRoutes: () => loaded.flatMap(({ plugin }) => plugin.getAuthExcludedRoutes?.() ?? []),
    createShared() {
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
    async beforeSend(send) {
      try {
        for (const { middlewares } of loaded) for (const middleware of middlewares) await middleware.beforeSend?.(send);
      } catch (error) {
        await reportEnd(toRefusal(send));
        throw error;
      }
    },
    async beforeResume(send) {
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

/** Brings the tables of a plugin up to date. */
export async function migratePlugin(
  plugin: OraclePlugin,
  store: Pick<PluginContext['store'], 'migrate'>,
): Promise<void> {
  if (plugin.migrations) await store.migrate(`agent-${plugin.name}`, plugin.migrations);
}

/** The end of a message that never became a turn. */
function toRefusal({ sendId, userDid, sessionId, model }: PendingSend): TurnEnd {
  const usage = { inputTokens: 0, outputTokens: 0 };
  return { sendId, userDid, sessionId, runId: undefined, model, status: 'refused', usage, usageByModel: {} };
}

function toMessage(faults: string[]): string {
  return `The plugins are not valid:\n${faults.map((fault) => `  ${fault}`).join('\n')}`;
}
