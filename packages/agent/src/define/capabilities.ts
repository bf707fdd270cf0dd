import type { Message } from '@palaver/contract';
import { z } from 'zod';
import { ToolError } from './runtime-context.ts';
import type { LoadedPlugin } from './select-plugins.ts';
import type { Tools } from './tool.ts';

const listCapabilitiesTool = 'list_capabilities';
const loadCapabilityTool = 'load_capability';

export const capabilityToolNames: readonly string[] = [listCapabilitiesTool, loadCapabilityTool];

/** Names of the on-demand plugins that were loaded earlier in this session: its own history says so. */
export function findLoadedCapabilities(history: Message[]): Set<string> {
  const calls = history
    // Those of a question are a caller's.
    .flatMap(({ type, toolCalls = [] }) => (type === 'ai' ? toolCalls : []))
    .filter(({ name, status }) => name === loadCapabilityTool && status === 'done');
  return new Set(calls.map(({ args }) => String(args.name)));
}

/** The two tools by which the agent finds and loads what is not in its prompt; none where every plugin is. */
export function createCapabilityTools(plugins: LoadedPlugin[], onLoad: (plugin: LoadedPlugin) => Promise<void>): Tools {
  const onDemand = plugins.filter(({ manifest }) => manifest.visibility === 'on-demand');
  if (onDemand.length === 0) return {};
  return {
    [listCapabilitiesTool]: {
      description: 'Lists capabilities that are not loaded yet. Look here before you say that you cannot do something.',
      inputSchema: z.object({ query: z.string().max(200).optional().describe('Words to look for') }),
      repeatable: true,
      execute: ({ query = '' }: { query?: string }) => {
        const words = query.toLowerCase().split(/\s+/).filter(Boolean);
        const entries = onDemand.map(({ name, manifest: { title, summary, whenToUse, tags = [] } }) => ({
          name,
          title,
          summary,
          whenToUse,
          tags,
        }));
        const matching = entries.filter((entry) =>
          words.some((word) => JSON.stringify(entry).toLowerCase().includes(word)),
        );
        return { capabilities: words.length > 0 && matching.length > 0 ? matching : entries };
      },
    },
    [loadCapabilityTool]: {
      description: 'Loads a capability by its name; its tools can be used from then on in this session.',
      inputSchema: z.object({ name: z.string().max(100) }),
      repeatable: true,
      async execute({ name }: { name: string }) {
        const plugin = onDemand.find((candidate) => candidate.name === name);
        if (!plugin)
          throw new ToolError(
            'TOOL_UNAVAILABLE',
            `there is no capability ${name}; list_capabilities names those there are`,
          );
        await onLoad(plugin);
        return { loaded: name, tools: [...Object.keys(plugin.tools), ...plugin.subAgents.map((agent) => agent.name)] };
      },
    },
  };
}
