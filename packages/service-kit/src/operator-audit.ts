import { AppError, didPattern, phoneNumberPattern } from '@palaver/contract';
import {
  type AuditAction,
  type AuditLine,
  type AuditQuery,
  auditListSchema,
  auditQuerySchema,
} from '@palaver/contract/internal';
import type { FastifyRequest, onSendAsyncHookHandler } from 'fastify';
import { LRUCache } from 'lru-cache';
import { clientAddress } from './client-address.ts';
import { tableReply } from './docs.ts';
import { maskNumbers } from './mask.ts';
import { sendFile, toCsvLines } from './replies.ts';
import type { Server } from './server.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler writes its own audit line, in the transaction of its change, or of every request (`always`). */
    audited?: boolean | 'always';
    /** The action of the line that a file leaves; `results.exported` where it is not set. */
    exportAction?: AuditAction;
  }
}

export interface OperatorAudit {
  record(event: {
    actor: `operator:${string}`;
    action: AuditAction;
    subject?: string | null;
    from?: string;
    details?: Record<string, string | number>;
  }): Promise<void>;
  person(identifier: string): string;
  list(query: AuditQuery): Promise<{ lines: AuditLine[]; nextCursor: string | null }>;
  listAll(query: Partial<AuditQuery>): AsyncGenerator<AuditLine[]>;
}

const repeatMs = 60_000;
const maxRemembered = 1_000;

export function toAuditBy(request: FastifyRequest): { actor: `operator:${string}`; from: string } {
  return { actor: `operator:${request.operator?.name ?? 'unknown'}`, from: clientAddress(request) };
}

// A read repeated within a minute is recorded once, a file each time. Without its line a request is not served.
export function addOperatorAudit(server: Server, audit: OperatorAudit): void {
  const recorded = createRecentKeys();
  server.addHook('preHandler', (request, _reply, done) => {
    // Most requests are not of operators, and should not pay for a promise.
    if (request.operator) record(request).then(() => done(), done);
    else done();
  });
  // The handler found nothing to change: trying one number after the other leaves lines too.
  const recordTry: onSendAsyncHookHandler = async (request, reply, payload) => {
    if (request.operator && reply.statusCode === 404) await recordRequest(request);
    return payload;
  };
  server.addHook('onRoute', (route) => {
    if (route.config?.audited === true) route.onSend = [route.onSend ?? [], recordTry].flat();
  });
  const recordRequest = (request: FastifyRequest, action: AuditAction = 'operator.write') =>
    audit.record({
      ...toAuditBy(request),
      action,
      subject: toSubject(request.params, audit),
      details: { method: request.method, route: request.routeOptions.url ?? '' },
    });
  async function record(request: FastifyRequest): Promise<void> {
    const { config, url = '' } = request.routeOptions;
    if (config.audited || url.startsWith('/metrics')) return;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const by = toAuditBy(request);
    const format = isRead ? toFileFormat(request) : undefined;
    if (format !== undefined) {
      const { exportAction: action = 'results.exported' } = config;
      const subject = toSubject(request.params, audit);
      return audit.record({ ...by, action, subject, details: { route: url, format } });
    }
    const key = [by.actor, by.from, request.url].join(' ');
    if (isRead && recorded.has(key)) return;
    await recordRequest(request, isRead ? 'operator.read' : 'operator.write');
    if (isRead) recorded.add(key);
  }
}

export function addAuditRoute(server: Server, { path, audit }: { path: string; audit: OperatorAudit }): void {
  const schema = {
    tags: ['Operators'],
    summary: 'Audit log (operators)',
    querystring: auditQuerySchema,
    response: { 200: tableReply },
  };
  const config = { exportAction: 'audit.exported' } as const;
  server.get(path, { schema, config, onRequest: server.operatorGuard }, async (request, reply) => {
    const { format: _, subject, ...filter } = request.query;
    const isViewer = request.operator?.role === 'viewer';
    if (isViewer && [subject, filter.actor].some(isPerson))
      throw new AppError('FORBIDDEN', 'To look for the lines of a person, the role operator is needed.');
    const show = isViewer ? hidePersons : (line: AuditLine) => line;
    const wanted = { ...filter, ...(subject !== undefined && { subject: toReference(subject, audit) }) };
    if (toFileFormat(request) !== undefined)
      return sendFile(server, reply, 'audit.csv', toCsv(audit.listAll(wanted), show));
    const { lines, nextCursor } = await audit.list(wanted);
    return auditListSchema.parse({ lines: lines.map(show), nextCursor });
  });
}

function toFileFormat({ query, headers }: Pick<FastifyRequest, 'query' | 'headers'>): string | undefined {
  const { format = headers.accept?.includes('text/csv') ? 'csv' : 'json' } = query as { format?: string };
  return format === 'json' ? undefined : format;
}

// Reports have the same times and references, with masked numbers. A viewer who saw whose line is whose, and could get the
// reference of a guessed number, would have the whole number.
function hidePersons({ actor, subject, details, ...line }: AuditLine): AuditLine {
  const hide = <Text extends string | null>(text: Text) => (isPerson(text) ? '[hidden]' : text);
  return {
    ...line,
    actor: hide(actor),
    subject: hide(subject),
    details: 'reference' in details ? { ...details, reference: '[hidden]' } : details,
  };
}

function isPerson(text: string | null | undefined): boolean {
  return text != null && (text.startsWith('person:') || didPattern.test(text) || maskNumbers(text) !== text);
}

const columns = ['seq', 'at', 'service', 'actor', 'action', 'subject', 'from', 'details', 'previous', 'hash'] as const;

async function* toCsv(
  pieces: AsyncGenerator<AuditLine[]>,
  show: (line: AuditLine) => AuditLine,
): AsyncGenerator<string> {
  const toCells = (line: AuditLine) =>
    columns.map((name) => (name === 'details' ? JSON.stringify(line[name]) : `${line[name] ?? ''}`));
  yield toCsvLines([[...columns]]);
  for await (const lines of pieces) yield toCsvLines(lines.map((line) => toCells(show(line))));
}

/** The log has phone numbers and DIDs as references only. */
function toReference(identifier: string, audit: OperatorAudit): string {
  return phoneNumberPattern.test(identifier) || didPattern.test(identifier) ? audit.person(identifier) : identifier;
}

/** A phone number is masked, not referred to: it may be a guess. Routes of persons write their own lines. */
function toSubject(params: unknown, audit: OperatorAudit): string | null {
  const [first] = Object.values((params ?? {}) as Record<string, unknown>);
  return typeof first === 'string' ? toReference(maskNumbers(first), audit) : null;
}

export function createRecentKeys(): { has(key: string): boolean; add(key: string): void } {
  const added = new LRUCache<string, true>({ max: maxRemembered, ttl: repeatMs });
  return { has: (key) => added.has(key), add: (key) => void added.set(key, true) };
}
