import { type DestinationStream, type Logger, pino } from 'pino';
import { maskFields, maskText } from './mask.ts';

export type { Logger } from 'pino';

/**
 * JSON lines on standard output, pretty on a terminal. Secrets are masked twice: fields by their name before the line
 * is written, phone numbers and tokens by their form in the finished line.
 */
export function createLogger(options: { name: string; level: string; destination?: DestinationStream }): Logger {
  const pretty = options.destination === undefined && process.stdout.isTTY === true;
  const destination = options.destination ?? (pretty ? undefined : useStandardOutput());
  return pino(
    {
      level: options.level,
      base: { service: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (fields) => maskFields(fields) },
      hooks: { streamWrite: maskText },
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

let standardOutput: DestinationStream | undefined;

/** One for all loggers of the process: their lines stay in order, and there is one end to wait for. */
function useStandardOutput(): DestinationStream {
  standardOutput ??= createStandardOutput();
  return standardOutput;
}

/**
 * Standard output that takes the lines of one turn of the event loop as one text: pino's own stream measures all that is
 * waiting again with every line.
 */
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
