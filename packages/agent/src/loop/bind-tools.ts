import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { CallerTool } from '../plugins/agent-run.ts';
import { createCapabilityTools, findLoadedCapabilities } from '../plugins/capabilities.ts';
import type { LoadedPlugin } from '../plugins/loaded-plugin.ts';
import type { RuntimeContext } from '../plugins/runtime-context.ts';
import type { SubAgent, Tool, Tools } from '../plugins/tool.ts';
import { toInputSchema } from '../plugins/tool-input.ts';

/** The tools of one turn. Loading a capability adds to them while the turn runs. */
export interface BoundTools {
  get(name: string): Tool | undefined;
  /** Whether the caller runs it. */
  isCallers(name: string): boolean;
  /** What the model receives. */
  declarations(): LanguageModelV4FunctionTool[];
}

export interface BindParts {
  plugins: LoadedPlugin[];
  rt: RuntimeContext;
  callerTools: CallerTool[];
  toTool(agent: SubAgent): Tool;
}

export async function bindTools({ plugins, rt, callerTools, toTool }: BindParts): Promise<BoundTools> {
  const tools = new Map<string, Tool>();
  const add = (more: Tools) => {
    // What a page declares must not replace what the agent's author wrote: the first of a name stays.
    for (const [name, tool] of Object.entries(more)) if (!tools.has(name)) tools.set(name, tool);
  };
  const load = (plugin: LoadedPlugin) => {
    add(plugin.tools);
    add(Object.fromEntries(plugin.subAgents.map((agent) => [agent.name, toTool(agent)])));
    if (!rt.loadedPlugins.includes(plugin.name)) rt.loadedPlugins.push(plugin.name);
  };
  const addRequestTools = async ({ plugin, name }: LoadedPlugin) => {
    try {
      const more = (await plugin.getRequestTools?.(rt)) ?? {};
      for (const tool of Object.values(more)) toInputSchema(tool);
      add(more);
    } catch (error) {
      rt.logger.error({ err: error, plugin: name }, 'a plugin failed and was left out of this request');
    }
  };
  const earlier = new Set([...rt.loadedPlugins, ...findLoadedCapabilities(rt.history)]);
  const bound = plugins.filter(({ manifest, name }) => manifest.visibility !== 'on-demand' || earlier.has(name));
  for (const plugin of bound) load(plugin);
  const loadNow = async (plugin: LoadedPlugin) => {
    load(plugin);
    await addRequestTools(plugin);
  };
  add(createCapabilityTools(plugins, loadNow));
  for (const plugin of bound) await addRequestTools(plugin);
  const brought = Object.fromEntries(callerTools.map((tool) => [tool.name, toCallerTool(tool)]));
  add(brought);
  return toBoundTools(tools, (name) => tools.has(name) && tools.get(name) === brought[name]);
}

/** Nothing runs here, so its call may be sent twice. */
function toCallerTool({ description, schema }: CallerTool): Tool {
  return { description, input: schema, repeatable: true, execute: () => undefined };
}

export function toBoundTools(tools: Map<string, Tool>, isCallers: BoundTools['isCallers'] = () => false): BoundTools {
  return {
    get: (name) => tools.get(name),
    isCallers,
    declarations: () =>
      [...tools].map(([name, tool]) => ({
        type: 'function',
        name,
        description: tool.description,
        inputSchema: toInputSchema(tool),
      })),
  };
}
