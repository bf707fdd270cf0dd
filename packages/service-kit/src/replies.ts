import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { AppError } from '@palaver/contract';
import { eventStreamHeaders } from '@palaver/contract/internal';
import type { FastifyReply } from 'fastify';
import Papa from 'papaparse';
import { countAsStream } from './metrics.ts';
import type { Server } from './server.ts';

export function toEvent(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** For a reply that is written past the framework. Without a listener, a fault of one reader's stream would end the process. */
export function takeOver(reply: FastifyReply): ServerResponse {
  reply.hijack();
  countAsStream(reply);
  return reply.raw.on('error', (error) => reply.request.log.error({ err: error }, 'a stream failed'));
}

/** Begins Server-Sent Events, past the framework. Undefined for a reader that has left, or asked for the headers only. */
export function openEventStream(
  reply: FastifyReply,
  { headers, heartbeatMs }: { headers?: Record<string, string>; heartbeatMs: number },
): ServerResponse | undefined {
  const raw = takeOver(reply);
  // `close` has been emitted and will not be again.
  if (raw.destroyed || raw.closed || raw.socket?.destroyed) return undefined;
  // Hooks, such as that of CORS, have set headers.
  reply.headers({ ...eventStreamHeaders, ...headers });
  raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  if (reply.request.method === 'HEAD') {
    raw.end();
    return undefined;
  }
  const heartbeat = setInterval(() => {
    // What has ended is still being sent to a slow reader.
    if (!raw.writableEnded && !raw.writableNeedDrain) raw.write(': heartbeat\n\n');
  }, heartbeatMs);
  return raw.once('close', () => clearInterval(heartbeat));
}

export function signalOf({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const leave = () => {
    if (!raw.writableFinished) controller.abort(new AppError('REQUEST_TIMEOUT', 'The client has disconnected.'));
  };
  raw.once('close', leave);
  if (raw.destroyed || raw.socket?.destroyed) leave();
  return controller.signal;
}

/** Whether `If-None-Match` names this ETag, in any form of RFC 9110. */
export function isUnchanged(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false;
  return given.split(',').some((tag) => {
    const bare = tag.trim();
    // The tag of a compressed form ends with its encoding.
    return bare === '*' || bare.replace(/^W\//, '').replace(/-(?:br|gzip)"$/, '"') === etag;
  });
}

/** Forbids browsers everything with a reply that is not a page; pages set their own policy. */
export const browserHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  // A reply that may be kept says so itself.
  'cache-control': 'no-store',
};

/** For API documentation: only this server's scripts. Swagger UI sets styles from script and has icons in data URLs. */
export const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const maxExports = 4;
const running = new WeakMap<object, number>();
const types = { csv: 'text/csv', json: 'application/json', xml: 'text/xml' };

/** A file that is written while it is read. Throws if the server writes several already. */
export function sendFile(
  { server }: Pick<Server, 'server'>,
  reply: FastifyReply,
  name: `${string}.${keyof typeof types}`,
  pieces: AsyncIterable<string>,
): FastifyReply {
  const count = running.get(server) ?? 0;
  if (count >= maxExports)
    throw new AppError('LIMIT_REACHED', 'Other files are being exported. Try again in a minute.');
  running.set(server, count + 1);
  const file = Readable.from(pieces).once('close', () => running.set(server, (running.get(server) ?? 1) - 1));
  const type = types[name.slice(name.lastIndexOf('.') + 1) as keyof typeof types];
  return reply
    .header('content-disposition', `attachment; filename="${name}"`)
    .type(`${type}; charset=utf-8`)
    .send(file);
}

// RFC 4180, with an apostrophe before what a spreadsheet would run as a formula, at the start or where some languages
// split cells (semicolon, tab). A phone number stays; `forSpreadsheet` keeps its plus and all digits of long numbers.
export function toCsvLines(rows: string[][], { forSpreadsheet = false } = {}): string {
  const write = forSpreadsheet ? toSpreadsheetCell : toCell;
  if (rows.length === 0) return '';
  const quotes = (value: unknown) => /[;\t]/.test(String(value));
  return `${Papa.unparse(
    rows.map((row) => row.map(write)),
    { newline: '\r\n', quotes },
  )}\r\n`;
}

/** A spreadsheet keeps 15 digits, shows 11, and drops a plus and zeros at the beginning. */
const losesDigits = /^(?:\+\d+|0\d+|\d{12,})$/;

function toSpreadsheetCell(value: string): string {
  return losesDigits.test(value) ? `="${value}"` : toCell(value);
}

// The wide forms are the same signs to a spreadsheet with an East Asian language.
const formulaAtStart = /^(?!\+\d+$)(?:[\t\r\n]| *[=+\-@\uff1d\uff0b\uff0d\uff20])/;
const formulaAfterSeparator = /[;\t\r\n] *(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

function toCell(value: string): string {
  const split = value.replace(formulaAfterSeparator, "$&'");
  return formulaAtStart.test(value) ? `'${split}` : split;
}
