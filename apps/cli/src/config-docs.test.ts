import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { createBundledPlugins } from '@palaver/agent-plugins';
import { listVariables, parseConfig } from '@palaver/service-kit/internal';
import { expect, test } from 'vitest';
import { toConfigReference, toEnvExample } from './config-reference.ts';
import { services, unknownVariables } from './services.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const schemas = [
  ...Object.values(services).map(({ schema }) => schema),
  ...createBundledPlugins().flatMap(({ configSchema }) => configSchema ?? []),
];

test('.env.example and docs/configuration.md are what the schemas say', () => {
  expect(read('.env.example'), 'run "npm run config-docs"').toBe(toEnvExample());
  expect(read('docs/configuration.md'), 'run "npm run config-docs"').toBe(toConfigReference());
});

test('it has every variable of every schema once', () => {
  const names = toEnvExample().match(/^#[A-Z0-9_]+(?==)/gm) ?? [];
  expect(new Set(names).size).toBe(names.length);
  for (const { name } of schemas.flatMap((schema) => listVariables(schema)))
    if (name !== 'PORT') expect(names).toContain(`#${name}`);
});

test('docs/deploying.md lists every retention variable with its default', () => {
  const [, table = ''] = read('docs/deploying.md').split('## How long things are kept');
  const variables = schemas
    .flatMap((schema) => listVariables(schema))
    .filter(({ name }) => name.includes('RETENTION_'));
  expect(variables.length).toBeGreaterThan(4);
  for (const { name, defaultText } of variables)
    expect(table).toMatch(new RegExp(`\\| \`${name}\` \\(${defaultText}\\b`));
});

test('a variable with a different default in each service shows each of them', () => {
  const [, section = ''] = toEnvExample().split('Several services');
  const [, words = ''] = /((?:# .*\n)+)#CORS_ORIGIN=/.exec(section) ?? [];
  const text = words.replaceAll('\n# ', ' ');
  expect(text).toContain('The agent service (default *): ');
  expect(text).toContain('The query gateway (default unset): ');
  expect(section).toMatch(/^#CORS_ORIGIN= /m);
});

test('with every line taken into use it is a good configuration', () => {
  const env = parseEnv(toEnvExample().replace(/^#(?=[A-Z])/gm, ''));
  for (const { schema, portName } of Object.values(services)) {
    expect(parseConfig(schema, env, { names: { PORT: portName } })).not.toHaveProperty('faults');
  }
});

test('every example of a variable is a value it takes', () => {
  for (const schema of schemas) {
    const env = Object.fromEntries(listVariables(schema).map(({ name, example }) => [name, example]));
    // Production refuses secrets that everyone can read.
    expect(parseConfig(schema, { ...env, NODE_ENV: 'development' })).not.toHaveProperty('faults');
  }
});

test('secrets of programs and adapters have names of their own', () => {
  const named = { USSD_SECRET_PRICES: 'x', USSD_ADAPTER_SECRET_MINE: 'x' };
  expect(unknownVariables(named)).toEqual([]);
  expect(unknownVariables({ USSD_SECRETS_PRICES: 'x' })).toHaveLength(1);
});
