import type { Variable } from '@palaver/service-kit/internal';
import { listConfigSections } from './config-sections.ts';

const width = 100;

/** The text of `.env.example`: every variable once, each with its meaning and default. */
export function toEnvExample(): string {
  const blocks = [
    '# Every variable with its default. Copy to .env, remove the # in front of what you change.',
    '# What is set in the environment wins over this file.',
    ...listConfigSections().map(({ title, variables }) => [`\n# ── ${title} ──`, ...variables.map(toEntry)].join('\n')),
  ];
  return `${blocks.join('\n')}\n`;
}

function toEntry({ name, description, defaultText, example }: Variable): string {
  const words = description
    .split('\n')
    .flatMap(wrap)
    .map((line) => `# ${line}`);
  return `\n${words.join('\n')}\n#${name}=${defaultText ?? ''}${defaultText === undefined ? `        # for example ${example}` : ''}`;
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
