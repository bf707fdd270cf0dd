import { describe, expect, test } from 'vitest';
import { createLogger } from './logger.ts';

const canary = 'kanarienvogel';

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(
    createLogger({ name: 'test', level: 'debug', destination: { write: (line: string) => void lines.push(line) } }),
  );
  return lines.join('');
}

class AI_APICallError extends Error {
  override readonly name = 'AI_APICallError';
  readonly statusCode = 400;
  readonly requestBodyValues = { messages: [{ content: canary }] };
  readonly responseBody = `no: ${canary}`;
  readonly data = { error: { message: canary } };
}

const provider = () => new AI_APICallError(`refused: ${canary}\n    at ${canary} (file:1:1)`);

function parseFault(): Error {
  try {
    return JSON.parse(`{ ${canary}`);
  } catch (error) {
    return error as Error;
  }
}

describe.each<[string, () => Error]>([
  ['of a model provider', provider],
  ['of JSON.parse', parseFault],
  ['with fields of its own', () => Object.assign(new Error('no'), { body: canary, detail: `Key (x)=(${canary})` })],
  ['with such a cause', () => new Error('a turn failed', { cause: new Error('x', { cause: provider() }) })],
  ['of several', () => new AggregateError([provider(), parseFault()], 'all failed')],
  ['whose cause is text', () => new Error('no', { cause: `it said ${canary}` })],
])('an error %s', (_what, create) => {
  test.each<[string, (logger: ReturnType<typeof createLogger>) => void]>([
    ['as err', (logger) => logger.warn({ err: create() }, 'failed')],
    ['as err without a message', (logger) => logger.warn({ err: create() })],
    ['alone', (logger) => logger.warn(create())],
    ['under another name', (logger) => logger.warn({ error: create(), list: [{ reason: create() }] }, 'failed')],
    ['of a child', (logger) => logger.child({ requestId: 'r' }).error({ err: create() }, 'failed')],
  ])('is logged by its known fields: %s', (_how, write) => {
    const text = logged(write);
    expect(text).not.toContain(canary);
    expect(text).toMatch(/"type":"/);
    expect(text).toContain('errors.test.ts');
  });
});

test('what operators need stays: type, message, code, status, places and causes', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const line = JSON.parse(
    logged((logger) => logger.warn({ err: new Error('the database is unreachable', { cause }) }, 'failed')),
  );
  expect(line).toMatchObject({
    msg: 'failed',
    err: {
      type: 'Error',
      message: 'the database is unreachable',
      stack: expect.stringMatching(/^ {4}at /),
      cause: { message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' },
    },
  });
  expect(JSON.parse(logged((logger) => logger.warn({ err: provider() }, 'x'))).err).toMatchObject({ statusCode: 400 });
});

test('a UCAN is hidden by its form, wherever it is', () => {
  const token = 'OqJlcm9vdHOB2CpYJQABcRIgabcdef/+==';
  const text = logged((logger) => logger.info({ err: new Error(`bad token ${token}`), url: `/x?t=m${token}` }, token));
  expect(text).not.toContain('abcdef');
});
