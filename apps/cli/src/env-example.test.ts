import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { listVariables, parseConfig } from '@palaver/service-kit';
import { expect, test } from 'vitest';
import { toEnvExample } from './env-example.ts';
import { services } from './services.ts';

test('.env.example is what the schemas say', () => {
  const path = new URL('../../../.env.example', import.meta.url);
  expect(readFileSync(path, 'utf8'), 'run "npm run env-example"').toBe(toEnvExample());
});

test('with every line taken into use it is a good configuration', () => {
  const env = parseEnv(toEnvExample().replace(/^#(?=[A-Z])/gm, ''));
  for (const { schema, portName } of Object.values(services)) {
    expect(parseConfig(schema, env, { names: { PORT: portName } })).not.toHaveProperty('faults');
  }
});

test('every example of a variable is a value it takes', () => {
  for (const { schema } of Object.values(services)) {
    const env = Object.fromEntries(listVariables(schema).map(({ name, example }) => [name, example]));
    expect(parseConfig(schema, env)).not.toHaveProperty('faults');
  }
});
