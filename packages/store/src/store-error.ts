import { AppError } from '@palaver/contract';

/** What is wrong with a database. */
export type StoreErrorKind =
  | 'bad-url'
  | 'unwritable'
  | 'unreachable'
  | 'locked'
  | 'corrupt'
  | 'newer'
  | 'migration-failed'
  | 'encrypted'
  | 'overloaded'
  | 'closed';

/**
 * A fault of the database itself, not of a query: its message is one sentence for the operator, without secrets.
 *
 * @example
 * ```ts
 * import { openStore, StoreError } from '@palaver/store';
 *
 * export const store = await openStore('file:/read-only/herd.sqlite').catch((error: unknown) => {
 *   if (error instanceof StoreError) console.error(error.kind, error.message);
 * });
 * ```
 */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** SQLite's primary result codes about the file, not the statement. */
const sqliteFaults: Record<number, StoreErrorKind> = {
  5: 'locked',
  6: 'locked',
  8: 'unwritable',
  10: 'unreachable',
  11: 'corrupt',
  13: 'unwritable',
  14: 'unwritable',
  26: 'corrupt',
};

/** SQLSTATE classes 08 (connection), 28 (login), 3D (no database), 53 (resources), 57P (shutdown), 25006 (standby); system errors. */
const postgresFaultCode = /^(08|25006|28|3D|53|57P)[0-9A-Z]*$|^E(AI_AGAIN|[A-Z]+)$/;
/** PostgreSQL cancelled the statement: it took too long, or collided with others at each try. */
const overloads: unknown[] = ['57014', '40001', '40P01'];
const postgresFaultMessage =
  /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client (has encountered|was closed))/;

/** `undefined` for an ordinary failure such as a constraint. */
export function faultKind(error: unknown): StoreErrorKind | undefined {
  if (error instanceof StoreError) return error.kind;
  if (!(error instanceof Error)) return undefined;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  // Extended result codes carry the primary one in their low byte.
  if (typeof errcode === 'number') return sqliteFaults[errcode & 0xff];
  if (overloads.includes(code)) return 'overloaded';
  if (typeof code === 'string' && postgresFaultCode.test(code)) return 'unreachable';
  return postgresFaultMessage.test(error.message) ? 'unreachable' : undefined;
}

const passing: readonly StoreErrorKind[] = ['unreachable', 'locked', 'unwritable', 'overloaded', 'closed'];

/** The reply if the database cannot be used now; `undefined` for every other error. */
export function toUnavailable(error: unknown): AppError | undefined {
  const kind = faultKind(error);
  // An error with a path concerns a file, not a connection.
  if (kind === undefined || !passing.includes(kind) || (error as { path?: string }).path !== undefined)
    return undefined;
  return new AppError('UNAVAILABLE', 'The database cannot be used now. Please try again in a moment.', {
    cause: error,
  });
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node's AggregateError of a refused connection has a code, but no message.
  return error.message || String((error as { code?: unknown }).code ?? error.name);
}
