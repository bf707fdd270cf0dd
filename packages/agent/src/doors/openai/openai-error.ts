import type { AppError } from '@palaver/contract';
import { z } from 'zod';

/** Codes that clients of OpenAI know; the others are ours in lower case. */
const codes: Record<string, string> = {
  MODEL_UNKNOWN: 'model_not_found',
  RATE_LIMITED: 'rate_limit_exceeded',
  PAYMENT_REQUIRED: 'insufficient_quota',
};

const types: Record<number, string> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

const issuesSchema = z.array(z.object({ path: z.string() })).catch([]);

/** An error in OpenAI's form. */
export function toOpenAiError(error: AppError) {
  const { statusCode, code, message, details } = error;
  const [issue] = issuesSchema.parse(details.issues);
  return {
    error: {
      message,
      type: types[statusCode] ?? (statusCode < 500 ? 'invalid_request_error' : 'server_error'),
      param: issue?.path ?? null,
      code: statusCode === 401 ? 'invalid_api_key' : (codes[code] ?? code.toLowerCase()),
    },
  };
}
