import type { Variable } from '@palaver/service-kit/internal';
import { listConfigSections } from './config-sections.ts';

const intro = `# Configuration

Every variable of every service, written from the schemas that check them (\`npm run config-docs\`). Set them in the
environment or in a \`.env\` file in the folder you start from; the environment wins. An empty value is an unset one. A
wrong value stops the start with one message that names every fault. \`npx palaver doctor\` checks what is set.
`;

/** The text of `docs/configuration.md`. */
export function toConfigReference(): string {
  const sections = listConfigSections().map(({ title, variables }) => {
    const rows = variables.map(toRow);
    return [`## ${title}\n`, '| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
  });
  return `${[intro, ...sections].join('\n')}\n`.replaceAll('\n## ', '\n\n## ').replaceAll('\n\n\n', '\n\n');
}

function toRow({ name, defaultText, description, example, secret }: Variable): string {
  const standard = defaultText === undefined || defaultText === '' ? '' : `\`${escapePipes(defaultText)}\``;
  const shown = secret ? ' (secret)' : ` For example \`${escapePipes(example)}\`.`;
  return `| \`${name}\` | ${standard} | ${escapePipes(description).replaceAll('\n', '<br>')}${shown} |`;
}

function escapePipes(text: string): string {
  return text.replaceAll('|', '\\|');
}
