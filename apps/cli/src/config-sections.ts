import { createBundledPlugins } from '@palaver/agent-plugins';
import { baseVariables } from '@palaver/service-kit';
import { listVariables, type Variable } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { services } from './services.ts';

export interface ConfigSection {
  title: string;
  variables: Variable[];
}

/** Every variable once, in the sections of `.env.example` and of the configuration reference. */
export function listConfigSections(): ConfigSection[] {
  const base = listVariables(z.object(baseVariables({ port: 0 })).omit({ PORT: true }));
  const own = Object.values(services).map(({ title, portName, schema }) => ({
    title: `The ${title}`,
    variables: listVariables(schema).map((variable) => underUp(variable, portName)),
  }));
  const plugins = createBundledPlugins().flatMap(({ name, configSchema }) =>
    configSchema ? [{ title: `The agent's plugin ${name}`, variables: listVariables(configSchema) }] : [],
  );
  const isBase = new Set(base.map(({ name }) => name));
  const uses = own.flatMap(({ title, variables }) => variables.map((variable) => ({ title, variable })));
  const byName = Map.groupBy(
    uses.filter(({ variable }) => !isBase.has(variable.name)),
    ({ variable }) => variable.name,
  );
  const several = [...byName.values()].filter(({ length }) => length > 1).map(toShared);
  const sections = [
    { title: 'All services', variables: base },
    { title: 'Several services', variables: several },
    ...own,
    ...plugins,
  ];
  const listed = new Set<string>();
  return sections
    .map(({ title, variables }) => ({
      title,
      variables: variables.filter(({ name }) => !listed.has(name) && listed.add(name)),
    }))
    .filter(({ variables }) => variables.length > 0);
}

/** A variable of several services: what it means to each, and each one's default. */
function toShared(uses: { title: string; variable: Variable }[]): Variable {
  const [first] = uses.map(({ variable }) => variable);
  if (!first) throw new Error('a variable that no service uses');
  const isSame = uses.every(
    ({ variable }) => variable.defaultText === first.defaultText && variable.description === first.description,
  );
  if (isSame) return first;
  const parts = uses.map(({ title, variable }) => {
    const standard = variable.defaultText === undefined ? 'unset' : variable.defaultText;
    return `${title} (default ${standard}): ${variable.description}`;
  });
  return { ...first, defaultText: undefined, description: parts.join('\n') };
}

/** `npm start` runs all services in one process, where each port has a name of its own. */
function underUp(variable: Variable, portName: string): Variable {
  if (variable.name !== 'PORT') return variable;
  return {
    ...variable,
    name: portName,
    description: 'Port under `npm start`. If the service runs alone, PORT is used.',
  };
}
