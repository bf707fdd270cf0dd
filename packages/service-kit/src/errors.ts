import { AppError, type ErrorCode } from '@palaver/contract';
import { toErrorBody } from '@palaver/contract/internal';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

const codeOfStatus: Record<number, ErrorCode> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  413: 'PAYLOAD_TOO_LARGE',
  414: 'URI_TOO_LONG',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
  431: 'HEADERS_TOO_LARGE',
  503: 'UNAVAILABLE',
};

export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  toBody: (error: AppError) => object = toErrorBody,
): FastifyReply {
  const shown = toAppError(error);
  if (shown.statusCode >= 500) request.log.error({ err: error }, shown.message);
  return reply
    .status(shown.statusCode)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(toBody(shown)));
}

/** Clients see our own errors whole, the framework's refusals by their kind, and nothing of others. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { validation, statusCode, message } = error as Partial<FastifyError>;
  if (validation) {
    const issues = validation.map(({ instancePath, message: text = 'is not valid' }) => ({
      path: instancePath.replace(/^\//, '').replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~'),
      message: text,
    }));
    const sentence = issues.map((issue) => (issue.path ? `${issue.path}: ${issue.message}` : issue.message)).join('; ');
    return new AppError('VALIDATION_FAILED', sentence, { cause: error, details: { issues } });
  }
  const code = statusCode === undefined || statusCode === 500 ? undefined : codeOfStatus[statusCode];
  if (code && message) return new AppError(code, message, { cause: error });
  return new AppError('INTERNAL_ERROR', 'Something went wrong on our side. Please try again later.', { cause: error });
}

const maxDepth = 5;
const maxErrors = 5;
const maxCharacters = 1_000;

/** Their messages quote others: model providers and MCP servers the request, `JSON.parse` the text it could not read. */
const foreignMessages =
  /^(AI_.*|McpError|StreamableHTTPError|SseError|UnauthorizedError|SyntaxError|ZodError|\$ZodError)$/;

/** Only known fields of an error and its causes: others may hold anything, such as a request body. */
export function serializeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, cause, code, statusCode, status } = error as Error & Record<string, unknown>;
  const isForeign = foreignMessages.test(name) || foreignMessages.test(error.constructor.name);
  const shownStatus = typeof statusCode === 'number' ? statusCode : status;
  const stack = listPlaces(error);
  const isDeep = depth >= maxDepth;
  return {
    type: name,
    ...(!isForeign && { message: message.slice(0, maxCharacters) }),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(typeof shownStatus === 'number' && { statusCode: shownStatus }),
    ...(stack !== '' && { stack }),
    ...(cause !== undefined && !isDeep && { cause: serializeError(cause, depth + 1) }),
    ...(error instanceof AggregateError &&
      !isDeep && { errors: error.errors.slice(0, maxErrors).map((inner) => serializeError(inner, depth + 1)) }),
  };
}

/** Without any message, for errors of code that handles what users said. */
export function serializeErrorPlaces(error: unknown): Record<string, unknown> {
  const { message, cause, errors, ...rest } = serializeError(error);
  return rest;
}

function listPlaces({ stack = '', message }: Error): string {
  const afterMessage = stack.slice(stack.indexOf(message) + message.length);
  return afterMessage
    .split('\n')
    .filter((line) => /^ {4}at \S/.test(line))
    .join('\n');
}

/**
 * A fault that stops the start. Its message is one clear text for the operator; no stack is shown.
 *
 * @example
 * ```ts
 * import { StartError } from '@palaver/service-kit';
 *
 * export const noKey = new StartError('HERD_KEY is not set: make one with `openssl rand -hex 32`.');
 * ```
 */
export class StartError extends Error {
  override readonly name = 'StartError';
}
