import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorBodySchema } from './error-body.ts';
import { AppError, type ErrorCode, errorStatus, toErrorBody, toReasonPhrase } from './errors.ts';
import { toPaymentDetails } from './texts.ts';

test('the body carries the status twice, the reason phrase, the code and the named extras', () => {
  const error = new AppError('PAYMENT_REQUIRED', 'Pay first', {
    cause: new Error('secret'),
    details: { claimIds: ['c1'] },
  });
  const body = toErrorBody(error);
  expect(body).toEqual({
    statusCode: 402,
    error: 'Payment Required',
    message: 'Pay first',
    code: 'PAYMENT_REQUIRED',
    claimIds: ['c1'],
  });
  expect(errorBodySchema.parse(body)).toEqual(body);
});

test('extras cannot replace the four fields', () => {
  const body = toErrorBody(new AppError('NOT_FOUND', 'gone', { details: { statusCode: 200, code: 'OK' } }));
  expect(body).toMatchObject({ statusCode: 404, code: 'NOT_FOUND' });
});

test('every status in use has its reason phrase', () => {
  for (const status of Object.values(errorStatus)) expect(toReasonPhrase(status), String(status)).not.toBe('Error');
});

// The tables of the guides are written by hand; clients rely on both columns.
test('the guides name every code, each with its status', () => {
  const documented = ['agent-api', 'gateway'].flatMap((guide) => toDocumentedCodes(guide));
  for (const [code, statuses] of documented) expect(statuses, code).toContain(errorStatus[code]);
  const named = new Set(documented.map(([code]) => code));
  expect(Object.keys(errorStatus).filter((code) => !named.has(code as ErrorCode))).toEqual([]);
});

/** The codes of the rows of a guide's tables that have a status. */
function toDocumentedCodes(guide: string): [code: ErrorCode, statuses: number[]][] {
  const lines = readFileSync(new URL(`../../../docs/${guide}.md`, import.meta.url), 'utf8').split('\n');
  const rows = lines.map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.flatMap((cells) => {
    const statuses = cells.find((cell) => /^\d{3}(, \d{3})*$/.test(cell))?.split(', ') ?? [];
    const codes = cells.flatMap((cell) => Array.from(cell.matchAll(/`([A-Z_]+)`/g), ([, code = '']) => code));
    return codes
      .filter((code): code is ErrorCode => statuses.length > 0 && code in errorStatus)
      .map((code): [ErrorCode, number[]] => [code, statuses.map(Number)]);
  });
}

test('payment details repeat the claim ids under the names existing clients read', () => {
  const body = toErrorBody(new AppError('PAYMENT_REQUIRED', 'Pay first', { details: toPaymentDetails(['c1', 'c2']) }));
  const claims = ['c1', 'c2'];
  expect(body).toMatchObject({ claimIds: claims, claims, outstandingClaims: claims });
});
