import { toolNamePattern } from '@palaver/contract/internal';
import { capabilityToolNames } from './capabilities.ts';
import type { LoadedPlugin } from './select-plugins.ts';
import type { Tool } from './tool.ts';
import { toInputSchema } from './tool-arguments.ts';

/** The faults of plugins, found after they were loaded; each names the plugin and the remedy. */
export function checkPlugins(loaded: LoadedPlugin[]): string[] {
  return [
    ...checkTools(loaded),
    ...checkShared(loaded),
    ...checkExamples(loaded),
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
      toInputSchema(tool);
      return [];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return [
        `plugin ${plugin.name}: the input of the tool "${name}" is not a JSON Schema (${reason}); use plain types`,
      ];
    }
  });
  const badApprovals = plugin.subAgents.flatMap(({ name: agent, tools = {} }) =>
    Object.entries(tools)
      .filter(([, tool]) => tool.needsApproval)
      .map(
        ([name]) =>
          `plugin ${plugin.name}: the tool "${name}" of the sub-agent "${agent}" has needsApproval, which only tools of the main agent can have; give it to the main agent`,
      ),
  );
  return [...badNames, ...badInputs, ...badApprovals];
}

function checkTools(loaded: LoadedPlugin[]): string[] {
  const owners = loaded.map((plugin) => ({ name: plugin.name, keys: toolNamesOf(plugin) }));
  const ownTools = { name: undefined, keys: [...capabilityToolNames] };
  return findClashes([ownTools, ...owners], 'tool');
}

function checkShared(loaded: LoadedPlugin[]): string[] {
  return findClashes(
    loaded.map(({ name, plugin }) => ({ name, keys: Object.keys(plugin.getSharedState?.() ?? {}) })),
    'shared key',
  );
}

function findClashes(owners: { name: string | undefined; keys: string[] }[], what: string): string[] {
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

function checkExamples(loaded: LoadedPlugin[]): string[] {
  return loaded.flatMap((plugin) =>
    (plugin.manifest.examples ?? [])
      .filter(({ tool }) => !toolNamesOf(plugin).includes(tool))
      .map(
        ({ tool }) =>
          `plugin ${plugin.name}: an example names the tool "${tool}", which it does not have; name a real one`,
      ),
  );
}
