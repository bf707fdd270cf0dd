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

/** Sends an error as the contract's body. Unknown errors are logged whole and shown blank. */
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

/** What a client may know of an error: our own errors whole, the framework's refusals by their kind, of others nothing. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { validation, statusCode, message } = error as Partial<FastifyError>;
  if (validation) {
    const issues = validation.map((issue) => ({
      path: toDottedPath(issue.instancePath),
      message: issue.message ?? 'is not valid',
    }));
    return new AppError('VALIDATION_FAILED', toSentence(issues), { cause: error, details: { issues } });
  }
  const code = statusCode === undefined || statusCode === 500 ? undefined : codeOfStatus[statusCode];
  if (code && message) return new AppError(code, message, { cause: error });
  return new AppError('INTERNAL_ERROR', 'Something went wrong on our side. Please try again later.', { cause: error });
}

function toDottedPath(instancePath: string): string {
  return instancePath.replace(/^\//, '').replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}

function toSentence(issues: { path: string; message: string }[]): string {
  return issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ');
}
