import { AppError } from '@palaver/contract';
import { z } from 'zod';
import type { PluginContext } from '../../define/plugin-context.ts';

/** Codes of OpenAI; the others are ours in lower case. */
const codes: Record<string, string> = {
  RATE_LIMITED: 'rate_limit_exceeded',
  PAYMENT_REQUIRED: 'insufficient_quota',
  NOT_FOUND: 'unknown_url',
};

const types: Record<number, string> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  429: 'rate_limit_error',
};

const issuesSchema = z.array(z.object({ path: z.string() })).catch([]);

export const openAiErrorSchema = z.object({
  error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string().nullable() }),
});

/** Refuses a model that there is not, with the status that OpenAI has for it. */
export function checkModel({ models }: Pick<PluginContext, 'models'>, model: string | undefined): void {
  if (model === undefined || models.list.models.some(({ id }) => id === model)) return;
  const message = `The model ${JSON.stringify(model.slice(0, 60))} does not exist. GET /v1/models lists those there are.`;
  throw new AppError('NOT_FOUND', message, { details: { issues: [{ path: 'model', message }] } });
}

/** An error in OpenAI's form. */
export function toOpenAiError(error: AppError) {
  const { statusCode, code, message, details } = error;
  const [issue] = issuesSchema.parse(details.issues);
  const isModel = statusCode === 404 && issue?.path === 'model';
  return {
    error: {
      message,
      type: types[statusCode] ?? (statusCode < 500 ? 'invalid_request_error' : 'server_error'),
      param: issue?.path ?? null,
      code: statusCode === 401 ? 'invalid_api_key' : isModel ? 'model_not_found' : (codes[code] ?? code.toLowerCase()),
    },
  };
}
