import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';
import { createRequestLog } from './request-log.ts';

function lineOf(request: { id: string; url: string; status?: number }, level = 'info'): string {
  const lines: string[] = [];
  const logger = createLogger({ name: 'test', level, destination: { write: (line: string) => void lines.push(line) } });
  const log = createRequestLog(logger);
  log({ method: 'GET', status: 200, ...request, elapsedMs: 1.26 });
  return lines.join('');
}

test('it has the form of every other line, without the query', () => {
  const line = lineOf({ id: 'a-1', url: '/api/x?pin=4821' });
  expect(line.endsWith('}\n')).toBe(true);
  expect(JSON.parse(line)).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    service: 'test',
    requestId: 'a-1',
    method: 'GET',
    path: '/api/x',
    status: 200,
    ms: 1.3,
    msg: 'request',
  });
});

test('what a client wrote is escaped and masked', () => {
  const { requestId, path } = JSON.parse(lineOf({ id: 'a"\\ Bearer abc.def', url: '/of/+254712345678/"x"' }));
  expect(requestId).toBe('a"\\ Bearer [hidden]');
  expect(path).toBe('/of/+25471234****/"x"');
  expect(lineOf({ id: 'x', url: 'http://me:hunter2@host/' })).not.toContain('hunter2');
});

test('above its level nothing is written', () => {
  expect(lineOf({ id: 'a', url: '/' }, 'warn')).toBe('');
});

test.each(['/health', '/ready', '/metrics'])(
  '%s that a monitor polls is logged only at debug, or when it fails',
  (url) => {
    expect(lineOf({ id: 'a', url })).toBe('');
    expect(JSON.parse(lineOf({ id: 'a', url }, 'debug'))).toMatchObject({ level: 'debug', path: url });
    expect(JSON.parse(lineOf({ id: 'a', url, status: 503 }))).toMatchObject({ level: 'info', status: 503 });
  },
);
