/** What a log line keeps of an error. */
export interface LoggedError {
  type: string;
  message?: string;
  code?: string | number;
  statusCode?: number;
  /** The places in the code, without the message that a stack begins with. */
  stack?: string;
  cause?: LoggedError;
  errors?: LoggedError[];
}

const maxDepth = 5;
const maxErrors = 5;
const maxCharacters = 1_000;

/**
 * Types whose message repeats what someone else wrote: model providers and MCP servers quote the request, `JSON.parse` the
 * text it could not read.
 */
const foreignMessages =
  /^(AI_.*|McpError|StreamableHTTPError|SseError|UnauthorizedError|SyntaxError|ZodError|\$ZodError)$/;

/** The known fields of an error and its causes. Everything else an error may carry, such as a request body, is left out. */
export function serializeError(error: unknown, depth = 0): LoggedError {
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

/** The same without any message, for errors of code that handles what users said. */
export function serializeErrorPlaces(error: unknown): LoggedError {
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
