import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { baseVariables } from './base-config.ts';
import { findUnknownVariables, listVariables, loadConfig, withEnvFile } from './config.ts';
import { envList } from './env-types.ts';
import { StartError } from './errors.ts';
import { envOrigins } from './origins.ts';

const schema = z.object({
  ...baseVariables({ port: 3000 }),
  CODES: envList().prefault('').meta({ description: 'Codes', example: '*1#' }),
  CORS_ORIGIN: envOrigins().optional().meta({ description: 'Origins', example: '*' }),
  SECRET: z
    .string()
    .length(4, 'expected four characters')
    .meta({ description: 'A secret', example: 'abcd', secret: true }),
});

const messageOf = (env: Record<string, string>, options = {}) => {
  try {
    loadConfig(schema, env, options);
  } catch (error) {
    expect(error).toBeInstanceOf(StartError);
    return (error as Error).message;
  }
  throw new Error('it was accepted');
};

test('an empty variable is not set, a list is trimmed, and the result is frozen', () => {
  const config = loadConfig(schema, { SECRET: 'good', CODES: ' *1# ,, *2#', PORT: '' });
  expect(config).toMatchObject({ PORT: 3000, CODES: ['*1#', '*2#'] });
  expect(Object.isFrozen(config)).toBe(true);
});

test('every fault is named in one message, with what was expected and an example, and no secret', () => {
  const message = messageOf({
    PORT: '99999',
    LOG_LEVEL: 'loud',
    SECRET: 'hunter2',
    DATABASE_URL: 'mysql://u:pw@h/d',
    TRUST_PROXY_ENABLED: 'maybe',
    CORS_ORIGIN: 'app.example',
  });
  expect(message.split('\n')).toHaveLength(7);
  expect(message).toContain('PORT="99999": expected a whole number from 0 to 65535 (for example PORT=3000)');
  expect(message).toContain('LOG_LEVEL="loud": expected trace, debug');
  expect(message).toContain('SECRET: expected four characters (for example SECRET=abcd)');
  expect(message).toContain('DATABASE_URL: expected a URL starting with file: or postgres://');
  expect(message).not.toMatch(/hunter2|mysql/);
});

test.each(['1e3', '0x10', ' 80', '-1', '80.5', 'NaN'])('PORT=%s is not a whole number', (text) => {
  expect(messageOf({ SECRET: 'good', PORT: text })).toContain('PORT=');
});

test('a required variable that is missing says so', () => {
  expect(messageOf({})).toContain('SECRET is not set');
});

test('a variable read under another name is named by it', () => {
  const names = { PORT: 'USSD_PORT' };
  expect(loadConfig(schema, { SECRET: 'good', PORT: '1', USSD_PORT: '2' }, { names }).PORT).toBe(2);
  expect(messageOf({ SECRET: 'good', USSD_PORT: 'x' }, { names })).toContain('USSD_PORT="x": expected');
});

test('a misspelt variable is found and the right name offered', () => {
  const known = listVariables(schema).map(({ name }) => name);
  const env = { CODE: '*1#', CODEX: 'x', PATH: '/bin', CODES: '' };
  expect(findUnknownVariables(env, known, ['CODE'])).toEqual([
    'CODE: no such variable; did you mean CODES?',
    'CODEX: no such variable; did you mean CODES?',
  ]);
});

test('a .env file is read and the environment wins over it', async () => {
  await using dir = await createTempDir();
  const path = join(dir.path, '.env');
  writeFileSync(path, '# comment\nPORT=1\nHOST="0.0.0.0"\n');
  expect(withEnvFile({ PORT: '2' }, path)).toEqual({ PORT: '2', HOST: '0.0.0.0' });
  expect(withEnvFile({ PORT: '2' }, join(dir.path, 'none'))).toEqual({ PORT: '2' });
});
