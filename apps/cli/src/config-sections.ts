import { createBundledPlugins } from '@palaver/agent';
import { baseVariables, listVariables, type Variable } from '@palaver/service-kit';
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
  const counts = new Map<string, number>();
  for (const { name } of own.flatMap(({ variables }) => variables)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const isBase = new Set(base.map(({ name }) => name));
  const several = own
    .flatMap(({ variables }) => variables)
    .filter(({ name }) => !isBase.has(name) && (counts.get(name) ?? 0) > 1);
  const sections = [
    { title: 'All services', variables: base },
    { title: 'Several services', variables: several },
    ...own,
    ...plugins,
  ];
  const told = new Set<string>();
  return sections
    .map(({ title, variables }) => ({
      title,
      variables: variables.filter(({ name }) => !told.has(name) && told.add(name)),
    }))
    .filter(({ variables }) => variables.length > 0);
}

/** `npm start` runs all services in one process, where each port has a name of its own. */
function underUp(variable: Variable, portName: string): Variable {
  if (variable.name !== 'PORT') return variable;
  return { ...variable, name: portName, description: 'Its port under `npm start`; when it runs alone, PORT.' };
}
