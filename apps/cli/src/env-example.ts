import { baseVariables, listVariables, type Variable } from '@palaver/service-kit';
import { z } from 'zod';
import { services } from './services.ts';

const width = 100;

/** The text of `.env.example`: every variable once, shared ones first, each with its meaning and default. */
export function toEnvExample(): string {
  const base = z.object(baseVariables({ port: 0 }));
  const shared = listVariables(base.omit({ PORT: true }));
  const isShared = new Set(shared.map(({ name }) => name));
  const blocks = [
    '# Every variable with its default. Copy to .env, remove the # in front of what you change.',
    '# What is set in the environment wins over this file.',
    toSection('All services', shared),
    ...Object.values(services).map(({ title, portName, schema }) => {
      const own = listVariables(schema).filter(({ name }) => !isShared.has(name));
      return toSection(
        `The ${title}`,
        own.map((variable) => underUp(variable, portName)),
      );
    }),
  ];
  return `${blocks.join('\n')}\n`;
}

function toSection(title: string, variables: Variable[]): string {
  return [`\n# ── ${title} ──`, ...variables.map(toEntry)].join('\n');
}

function toEntry({ name, description, defaultText, example }: Variable): string {
  const words = wrap(description).map((line) => `# ${line}`);
  return `\n${words.join('\n')}\n#${name}=${defaultText ?? ''}${defaultText === undefined ? `        # for example ${example}` : ''}`;
}

/** `npm start` runs all services in one process, where each port has a name of its own. */
function underUp(variable: Variable, portName: string): Variable {
  if (variable.name !== 'PORT') return variable;
  return { ...variable, name: portName, description: `Its port under \`npm start\`; when it runs alone, PORT.` };
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
