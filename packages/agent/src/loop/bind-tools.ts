import { createHash } from 'node:crypto';
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { CallerTool } from '../plugins/agent-run.ts';
import { capabilityToolNames, createCapabilityTools, findLoadedCapabilities } from '../plugins/capabilities.ts';
import type { LoadedPlugin } from '../plugins/loaded-plugin.ts';
import type { RuntimeContext } from '../plugins/runtime-context.ts';
import type { SubAgent, Tool, Tools } from '../plugins/tool.ts';
import { toInputSchema } from '../plugins/tool-input.ts';

/** The tools of one turn. Loading a capability adds to them while the turn runs. */
export interface BoundTools {
  /** As they are now: what the model is shown in a step, and all that it can call in it. */
  forStep(): StepTools;
}

/** The tools of one step, which stay the same until its calls have ended. */
export interface StepTools {
  get(name: string): Tool | undefined;
  /** Stands for who brought the tool and what it says it does: another tool of the name has another. */
  fingerprintOf(name: string): string | undefined;
  /** Whether on-demand capabilities can be loaded. */
  canLoad: boolean;
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
  const tools = new Map<string, BoundTool>();
  const add = (more: Tools, from: string) => {
    // What a page declares must not replace what the agent's author wrote: the first of a name stays.
    for (const [name, tool] of Object.entries(more)) if (!tools.has(name)) tools.set(name, { tool, from });
  };
  const load = (plugin: LoadedPlugin) => {
    add(plugin.tools, plugin.name);
    add(Object.fromEntries(plugin.subAgents.map((agent) => [agent.name, toTool(agent)])), plugin.name);
    if (!rt.loadedPlugins.includes(plugin.name)) rt.loadedPlugins.push(plugin.name);
  };
  const addRequestTools = async ({ plugin, name }: LoadedPlugin) => {
    try {
      const more = (await plugin.getRequestTools?.(rt)) ?? {};
      for (const tool of Object.values(more)) toInputSchema(tool);
      add(more, name);
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
  add(createCapabilityTools(plugins, loadNow), '');
  for (const plugin of bound) await addRequestTools(plugin);
  const brought = Object.fromEntries(callerTools.map((tool) => [tool.name, toCallerTool(tool)]));
  add(brought, '');
  return toBoundTools(tools, (tool) => Object.values(brought).includes(tool));
}

/** Nothing runs here, so its call may be sent twice. */
function toCallerTool({ description, schema }: CallerTool): Tool {
  return { description, input: schema, repeatable: true, execute: () => undefined };
}

interface BoundTool {
  tool: Tool;
  /** The plugin that brought it. */
  from: string;
}

export function toBoundTools(
  all: Map<string, BoundTool>,
  isOfCaller: (tool: Tool) => boolean = () => false,
): BoundTools {
  return {
    forStep() {
      const tools = new Map(all);
      return {
        get: (name) => tools.get(name)?.tool,
        fingerprintOf(name) {
          const bound = tools.get(name);
          return bound && toFingerprint(name, bound);
        },
        canLoad: capabilityToolNames.every((name) => tools.has(name)),
        isCallers(name) {
          const bound = tools.get(name);
          return bound !== undefined && isOfCaller(bound.tool);
        },
        declarations: () => [...tools].map(([name, { tool }]) => toDeclaration(name, tool)),
      };
    },
  };
}

function toDeclaration(name: string, tool: Tool): LanguageModelV4FunctionTool {
  return { type: 'function', name, description: tool.description, inputSchema: toInputSchema(tool) };
}

function toFingerprint(name: string, { tool, from }: BoundTool): string {
  const said = JSON.stringify([from, toDeclaration(name, tool)]);
  return createHash('sha256').update(said).digest('base64url');
}
