import { type DestinationStream, type Logger, pino } from 'pino';
import { maskFields, maskText } from './mask.ts';

export type { Logger } from 'pino';

/**
 * JSON lines on standard output, pretty on a terminal. Secrets are masked twice: fields by their name before the line
 * is written, phone numbers and tokens by their form in the finished line.
 */
export function createLogger(options: { name: string; level: string; destination?: DestinationStream }): Logger {
  const pretty = options.destination === undefined && process.stdout.isTTY === true;
  const destination =
    options.destination ?? (pretty ? undefined : pino.destination({ dest: 1, sync: false, minLength: 0 }));
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
