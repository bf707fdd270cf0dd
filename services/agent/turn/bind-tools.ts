import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { z } from 'zod';
import { createCapabilityTools, findLoadedCapabilities } from '../plugins/capabilities.ts';
import type { SubAgent, Tool, Tools } from '../plugins/plugin.ts';
import type { RuntimeContext } from '../plugins/runtime-context.ts';
import type { LoadedPlugin } from '../plugins/start-plugins.ts';

/** The tools of one turn. Loading a capability adds to them while the turn runs. */
export interface BoundTools {
  get(name: string): Tool | undefined;
  /** As the model is told of them. */
  declarations(): LanguageModelV4FunctionTool[];
}

export async function bindTools(
  plugins: LoadedPlugin[],
  rt: RuntimeContext,
  toTool: (agent: SubAgent) => Tool,
): Promise<BoundTools> {
  const tools = new Map<string, Tool>();
  const add = (more: Tools) => {
    // What a page declares must not replace what the agent's author wrote: the first of a name stays.
    for (const [name, tool] of Object.entries(more)) if (!tools.has(name)) tools.set(name, tool);
  };
  const earlier = new Set([...rt.loadedPlugins, ...findLoadedCapabilities(rt.history)]);
  const load = (plugin: LoadedPlugin) => {
    add(plugin.tools);
    add(Object.fromEntries(plugin.subAgents.map((agent) => [agent.name, toTool(agent)])));
    if (!rt.loadedPlugins.includes(plugin.name)) rt.loadedPlugins.push(plugin.name);
  };
  for (const plugin of plugins) {
    if (plugin.manifest.visibility !== 'on-demand' || earlier.has(plugin.name)) load(plugin);
  }
  add(createCapabilityTools(plugins, load));
  for (const { plugin, name } of plugins) {
    if (!plugin.getRequestTools) continue;
    try {
      add(await plugin.getRequestTools(rt));
    } catch (error) {
      rt.logger.error({ err: error, plugin: name }, 'a plugin failed and was left out of this request');
    }
  }
  return toBoundTools(tools);
}

export function toBoundTools(tools: Map<string, Tool>): BoundTools {
  return {
    get: (name) => tools.get(name),
    declarations: () =>
      [...tools].map(([name, tool]) => ({
        type: 'function',
        name,
        description: tool.description,
        inputSchema: toJsonSchema(tool),
      })),
  };
}

const schemas = new WeakMap<object, LanguageModelV4FunctionTool['inputSchema']>();

function toJsonSchema({ input }: Tool): LanguageModelV4FunctionTool['inputSchema'] {
  if (!(input instanceof z.ZodType)) return input;
  const known = schemas.get(input);
  if (known) return known;
  const made = z.toJSONSchema(input, { io: 'input' }) as LanguageModelV4FunctionTool['inputSchema'];
  schemas.set(input, made);
  return made;
}
