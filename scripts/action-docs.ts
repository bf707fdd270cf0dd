// Writes what documents and the console's editor say of keywords, from their files. A test keeps them equal.
import { readFileSync, writeFileSync } from 'node:fs';
import { actionKeywords, type BuiltInName, builtInNames, kinds } from '@palaver/program/internal';
import { z } from 'zod';
import type { DeclaredAction } from '../services/ussd/src/actions/action.ts';
import { defaultSignatures } from '../services/ussd/src/actions/default-signatures.ts';

const heading = `# Actions of programs

The states of kind \`action\` in a [program](ussd-menus.md) have one of these keywords, or name one of the actions below. This
page is written by \`npm run action-docs\`.

`;

export function toActionReference(): string {
  const builtIns = builtInNames.map(describeBuiltIn).join('\n');
  const named = Object.entries<DeclaredAction>(defaultSignatures).map(describeNamed).join('');
  return `${heading}## Keywords

${builtIns}
## Named actions

\`action: NAME\`. Answers in brackets may be missing. Texts and expressions can use the values afterwards.

| Action | Does | Answers | Outcomes | Values |
|---|---|---|---|---|
${named}`;
}

function describeBuiltIn(name: BuiltInName): string {
  const { about, schema, outcomes } = actionKeywords[name];
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const fields = Object.entries(properties).map(([field, shape]) => {
    const { description = '', default: fallback } = shape as { description?: string; default?: unknown };
    const isPlain = typeof fallback === 'string' || typeof fallback === 'number';
    const rest = required.includes(field) ? '' : isPlain ? ` (\`${fallback}\` by default)` : ' (optional)';
    return `| \`${field}\` | ${description}${rest} |\n`;
  });
  const meanings = Object.entries<string>(outcomes).map(([outcome, meaning]) => `- \`${outcome}\`: ${meaning}\n`);
  return `### ${name}

${about}

| Field | |
|---|---|
${fields.join('')}
${meanings.join('')}`;
}

function describeNamed([name, { about = '', answers = [], outcomes, values = {} }]: [string, DeclaredAction]): string {
  const list = (names: readonly string[]) => names.map((each) => `\`${each}\``).join(', ');
  const typed = Object.entries(values).map(([value, type]) => `\`${value}\` (${type})`);
  return `| \`${name}\` | ${about} | ${list(answers)} | ${list(outcomes)} | ${typed.join(', ')} |\n`;
}

export function toStateReference(): string {
  const rows = Object.entries(kinds).map(([name, { shows, leadsTo }]) => `| \`${name}\` | ${shows} | ${leadsTo} |\n`);
  return `| Kind | Shows | Continues with |\n| --- | --- | --- |\n${rows.join('')}`;
}

export function toEditorFields(): string {
  const fieldsOf = (keywords: Record<string, { editor: object }>) =>
    Object.fromEntries(Object.entries(keywords).map(([name, { editor }]) => [name, editor]));
  return `${JSON.stringify({ states: fieldsOf(kinds), actions: fieldsOf(actionKeywords) }, undefined, 2)}\n`;
}

if (import.meta.main) {
  const at = (path: string) => new URL(`../${path}`, import.meta.url);
  const menus = readFileSync(at('docs/ussd-menus.md'), 'utf8');
  writeFileSync(at('docs/ussd-actions.md'), toActionReference());
  writeFileSync(at('docs/ussd-menus.md'), menus.replace(/\| Kind[^\n]*\n(?:\|[^\n]*\n)+/, toStateReference));
  writeFileSync(at('apps/console/web/programs/keywords.json'), toEditorFields());
}
