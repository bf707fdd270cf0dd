import { type DestinationStream, type LogFn, type Logger as PinoLogger, pino } from 'pino';
import { serializeError } from './errors.ts';
import { maskFields, maskText } from './mask.ts';

/** A logger of pino. */
export type Logger = PinoLogger;

let logFile: DestinationStream | undefined;

/** Loggers created from now on append to this file instead of standard output. Only its owner can read it. */
export function sendLogsTo(path: string): void {
  const output = pino.destination({ dest: path, mode: 0o600, sync: false });
  process.once('exit', () => output.flushSync());
  logFile = output;
}

/**
 * JSON lines on standard output, pretty on a terminal; secrets are masked by the names of fields and by their form.
 *
 * @example
 * ```ts
 * import { createLogger } from '@palaver/service-kit';
 *
 * createLogger({ name: 'herd', level: 'info' }).info({ goats: 12 }, 'counted');
 * ```
 */
export function createLogger(options: { name: string; level: string; destination?: DestinationStream }): Logger {
  const chosen = options.destination ?? logFile;
  const pretty = chosen === undefined && process.stdout.isTTY === true;
  if (!chosen && !pretty) standardOutput ??= createStandardOutput();
  const destination = chosen ?? (pretty ? undefined : standardOutput);
  return pino(
    {
      level: options.level,
      base: { service: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (fields) => maskFields(fields) },
      // Errors are plain objects by then, in whichever field they are.
      serializers: { err: (value: unknown) => (value instanceof Error ? serializeError(value) : value) },
      hooks: { streamWrite: (line) => keepLine(maskText(line)), logMethod: addMessage },
      ...(pretty && {
        transport: {
          target: 'pino-pretty',
          options: { ignore: 'service', messageFormat: '{service}: {msg}', singleLine: true },
        },
      }),
    },
    destination as DestinationStream,
  );
}

/** pino would give a line without a message the error's message, unmasked. */
function addMessage(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
  const [first] = args as unknown[];
  const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err;
  if (args.length > 1 || !(error instanceof Error)) method.apply(this, args);
  else method.call(this, first === error ? { err: error } : first, error.name);
}

/** Shared by all loggers of the process: their lines stay in order, and there is one end to wait for. */
let standardOutput: DestinationStream | undefined;

/** Writes the lines of one tick as one text: pino's own stream measures all waiting text again with every line. */
function createStandardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false });
  let lines = '';
  const flush = () => {
    if (lines !== '') output.write(lines);
    lines = '';
  };
  process.once('exit', () => {
    flush();
    output.flushSync();
  });
  return {
    write(line) {
      if (lines === '') setImmediate(flush);
      lines += line;
    },
  };
}

const maxLines = 500;
const maxLineLength = 8_000;
const lines: string[] = [];

function keepLine(line: string): string {
  if (/^\{"level":"(?:warn|error|fatal)"/.test(line) && line.length <= maxLineLength) {
    lines.push(line);
    if (lines.length > maxLines) lines.shift();
  }
  return line;
}

/** A client may use a request's id again: `since` and `until`, in milliseconds, tell the requests apart. */
interface WantedLines {
  requestId?: string | undefined;
  since: number;
  until: number;
}

const shownLines = 50;

/** The latest kept warnings and errors, of one request or of all, oldest first, masked as in the log. */
export function findLines(service: string, { requestId, since, until }: WantedLines): Record<string, unknown>[] {
  return lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ service: name, requestId: ownId, time }) => {
      const at = Date.parse(String(time));
      return name === service && (requestId ?? ownId) === ownId && at >= since && at <= until;
    })
    .slice(-shownLines);
}
