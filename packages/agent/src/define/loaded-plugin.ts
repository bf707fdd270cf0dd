import type { Middleware } from './middleware.ts';
import type { OraclePlugin, PluginManifest } from './plugin.ts';
import type { PluginContext } from './plugin-context.ts';
import type { SubAgent, Tools } from './tool.ts';

export interface LoadedPlugin {
  name: string;
  plugin: OraclePlugin;
  manifest: PluginManifest;
  ctx: PluginContext;
  tools: Tools;
  subAgents: SubAgent[];
  middlewares: Middleware[];
}
