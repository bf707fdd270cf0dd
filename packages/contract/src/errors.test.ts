import { expect, test } from 'vitest';
import { AppError, errorBodySchema, errorStatus, toErrorBody, toReasonPhrase } from './errors.ts';

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
