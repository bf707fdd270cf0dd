import { createBundledPlugins } from '@palaver/agent-plugins';
import { baseVariables } from '@palaver/service-kit';
import { listVariables, type Variable } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { services } from './services.ts';

const intro = `# Configuration

Every variable of every service, written from the schemas that check them (\`npm run config-docs\`). Set them in the
environment or in a \`.env\` file in the folder you start from; the environment wins. An empty value is an unset one. A
wrong value stops the start with one message that names every fault. \`npx palaver doctor\` checks what is set.
`;

export function toConfigReference(): string {
  const sections = listConfigSections().map(({ title, variables }) => {
    const rows = variables.map(toRow);
    return [`## ${title}\n`, '| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
  });
  return `${[intro, ...sections].join('\n')}\n`.replaceAll('\n## ', '\n\n## ').replaceAll('\n\n\n', '\n\n');
}

function toRow({ name, defaultText, description, example, secret }: Variable): string {
  const standard = defaultText === undefined || defaultText === '' ? '' : `\`${escapePipes(defaultText)}\``;
  const shown = secret ? ' (secret)' : example === defaultText ? '' : ` For example \`${escapePipes(example)}\`.`;
  return `| \`${name}\` | ${standard} | ${escapePipes(description).replaceAll('\n', '<br>')}${shown} |`;
}

const escapePipes = (text: string): string => text.replaceAll('|', '\\|');

function listConfigSections(): { title: string; variables: Variable[] }[] {
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
  const description = 'Port under `npm start`. If the service runs alone, PORT is used.';
  return { ...variable, name: portName, description };
}

const width = 100;

export function toEnvExample(): string {
  const blocks = [
    '# Every variable with its default. Copy to .env, remove the # in front of what you change.',
    '# What is set in the environment wins over this file.',
    ...listConfigSections().map(({ title, variables }) => [`\n# ── ${title} ──`, ...variables.map(toEntry)].join('\n')),
  ];
  return `${blocks.join('\n')}\n`;
}

function toEntry({ name, description, defaultText, example }: Variable): string {
  const lines = description.split('\n').flatMap(wrap);
  return `\n${lines.map((line) => `# ${line}`).join('\n')}\n#${name}=${defaultText ?? ''}${defaultText === undefined ? `        # for example ${example}` : ''}`;
}

function wrap(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line.length + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
