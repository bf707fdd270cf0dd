import { expect, test } from 'vitest';
import { errorBodySchema, paymentRequiredBodySchema, validationErrorBodySchema } from './error-body.ts';
import { AppError, errorStatus, toErrorBody, toolErrorCodes, toReasonPhrase } from './errors.ts';
import { toPaymentDetails } from './payment-details.ts';
import { sendMessageSchema } from './send-message.ts';
import { toValidationIssues } from './validation-issues.ts';

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

// The codes the specification and the contract name, written out so that one cannot vanish unseen.
test.each([
  ['BAD_REQUEST', 400],
  ['VALIDATION_FAILED', 400],
  ['MODEL_UNKNOWN', 400],
  ['DELEGATION_INVALID', 400],
  ['DELEGATION_WRONG_AUDIENCE', 400],
  ['DELEGATION_EXPIRED', 400],
  ['DELEGATION_REVOKED', 400],
  ['DELEGATION_NOT_YOURS', 403],
  ['UCAN_MISSING', 401],
  ['UCAN_MALFORMED', 401],
  ['UCAN_EXPIRED', 401],
  ['UCAN_NOT_YET_VALID', 401],
  ['UCAN_NO_EXPIRY', 401],
  ['UCAN_WRONG_AUDIENCE', 401],
  ['UCAN_BAD_SIGNATURE', 401],
  ['UCAN_BAD_PROOF', 401],
  ['UCAN_NOT_ALLOWED', 401],
  ['UCAN_TTL_TOO_LONG', 401],
  ['PAYMENT_REQUIRED', 402],
  ['FORBIDDEN', 403],
  ['NOT_FOUND', 404],
  ['SESSION_NOT_FOUND', 404],
  ['RUN_NOT_FOUND', 404],
  ['APPROVAL_NOT_FOUND', 404],
  ['SESSION_BUSY', 409],
  ['APPROVAL_ANSWERED', 409],
  ['PAYLOAD_TOO_LARGE', 413],
  ['URI_TOO_LONG', 414],
  ['UNSUPPORTED_MEDIA_TYPE', 415],
  ['ATTACHMENT_FAILED', 422],
  ['IDEMPOTENCY_KEY_REUSED', 422],
  ['RATE_LIMITED', 429],
  ['LIMIT_REACHED', 429],
  ['RESPONSE_TOO_LARGE', 502],
] as const)('%s is answered with %i', (code, status) => {
  expect(new AppError(code, 'x').statusCode).toBe(status);
});

test.each(['REAUTHORIZATION_REQUIRED', 'AUTHORIZATION_REQUIRED'])('%s is a tool error, not an HTTP error', (code) => {
  expect(toolErrorCodes).toContain(code);
  expect(errorStatus).not.toHaveProperty(code);
});

test('payment details repeat the claim ids under the names existing clients read', () => {
  const body = toErrorBody(new AppError('PAYMENT_REQUIRED', 'Pay first', { details: toPaymentDetails(['c1', 'c2']) }));
  const claims = ['c1', 'c2'];
  expect(paymentRequiredBodySchema.parse(body)).toMatchObject({ claimIds: claims, claims, outstandingClaims: claims });
});

test('validation issues name the field by its dotted path', () => {
  const { error } = sendMessageSchema.safeParse({
    message: 'hi',
    attachments: [{ mxcUri: 'mxc://h/m', mimetype: 'a/b' }],
  });
  const issues = toValidationIssues(error?.issues ?? []);
  expect(issues).toEqual([{ path: 'attachments.0.filename', message: expect.any(String) }]);
  const body = toErrorBody(new AppError('VALIDATION_FAILED', 'Invalid', { details: { issues } }));
  expect(validationErrorBodySchema.parse(body)).toEqual(body);
});
