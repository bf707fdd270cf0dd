import { AppError } from '@palaver/contract';
import {
  offsetPageQuerySchema,
  type UssdDebugRecord,
  type UssdReport,
  ussdDebugRecordSchema,
  ussdReportListSchema,
  ussdSessionParamsSchema,
  ussdSessionsRecordSchema,
  visibleAsciiPattern,
} from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { addAuditRoute, tableReply, toCsvLines, toExport, type ZodTypeProvider } from '@palaver/service-kit/internal';
import type { AuditLog, DatabaseClock } from '@palaver/store';
import { z } from 'zod';
import type { Accounts } from '../accounts/accounts.ts';
import type { PersonData } from '../accounts/person-data.ts';
import type { AgentPerson } from '../assistant/agent-person.ts';
import { showCallersTo, showPieces } from '../callers/show-callers.ts';
import type { Menu } from '../menu/menu.ts';
import type { Programs } from '../programs/programs.ts';
import type { Publishing } from '../programs/publishing.ts';
import type { RecordStore } from '../records/records.ts';
import type { Reports } from '../reports/reports.ts';
import { isExpired, type Session, sessionStatus, unpackDialogue, unpackOpening } from '../session/session.ts';
import type { SessionStore } from '../session/session-store.ts';
import type { Messages } from '../sms/messages.ts';
import type { UssdTables } from '../store/tables.ts';
import type { Submissions } from '../submissions/submissions.ts';
import { type AddressParts, addAddressRoutes } from './address.ts';
import { addCallerRoutes, type CallerRouteParts } from './callers.ts';
import { addPersonDataRoutes } from './person-data.ts';
import { addProgramStatsRoute, type ProgramStatsParts } from './program-stats.ts';
import { addProgramRoutes } from './programs.ts';
import { addRecordRoutes } from './records.ts';
import { addResultRoutes, type ResultRouteParts } from './results.ts';
import { addSmsRoutes } from './sms.ts';
import { addSubmissionRoutes } from './submissions.ts';

export interface OperatorParts extends AddressParts, ProgramStatsParts, ResultRouteParts, CallerRouteParts {
  accounts: Accounts;
  sessions: SessionStore;
  reports: Reports;
  records: RecordStore;
  submissions: Submissions;
  programs: Pick<Programs, 'find'>;
  messages: Messages;
  publishing: Publishing;
  timeoutMs: number;
  audit: AuditLog<UssdTables>;
  clock: Pick<DatabaseClock, 'now'>;
  personData: PersonData;
  agentPerson: AgentPerson | undefined;
}

/** What operators look at. The rate limit of the scope is checked before the guard: refused requests count too. */
export async function addOperatorRoutes(server: Server, parts: OperatorParts): Promise<void> {
  const { sessions, timeoutMs } = parts;
  await server.register(async (scope) => {
    scope.addHook('onRequest', scope.operatorGuard);
    const typed = scope.withTypeProvider<ZodTypeProvider>();

    typed.get(
      '/api/ussd/debug/:sessionId',
      { schema: { params: ussdSessionParamsSchema, response: { 200: ussdDebugRecordSchema } } },
      async ({ params, operator }) => {
        const now = parts.clock.now();
        // An id that no gateway could have sent is unknown; PostgreSQL would not even take all of them.
        const session = visibleAsciiPattern.test(params.sessionId) ? await sessions.load(params.sessionId) : undefined;
        if (!session || session.status !== sessionStatus.active || isExpired(session, now, timeoutMs)) {
          throw new AppError('SESSION_NOT_FOUND', 'There is no active session with this id.');
        }
        const { program } = unpackOpening(session.opening);
        const menu = program === undefined ? undefined : await parts.programs.find(program);
        const { phoneNumber: phone, reply } = showCallersTo(operator)({
          phoneNumber: session.phone,
          reply: session.reply,
        });
        return toDebugRecord({ ...session, phone, reply }, (await sessions.listActive(now)).ids, menu);
      },
    );

    typed.get('/api/ussd/sessions', { schema: { response: { 200: ussdSessionsRecordSchema } } }, async () => {
      const { ids, count } = await sessions.listActive(parts.clock.now());
      return { activeSessions: ids, count };
    });

    addReportRoute(typed, parts.reports);
    addRecordRoutes(typed, parts);
    addSubmissionRoutes(typed, parts);
    addSmsRoutes(typed, parts);
    addProgramRoutes(typed, parts.publishing);
    addProgramStatsRoute(typed, parts);
    addResultRoutes(typed, parts);
    addAuditRoute(typed, { path: '/api/ussd/audit', audit: parts.audit });
    addPersonDataRoutes(typed, parts);

    addAddressRoutes(typed, parts);
    addCallerRoutes(typed, parts);
  });
}

const reportQuerySchema = offsetPageQuerySchema.extend({ format: z.enum(['json', 'csv', 'spreadsheet']).optional() });
const csvColumns = [
  'reference',
  'phoneNumber',
  'type',
  'amount',
  'createdAt',
  'unit',
  'place',
  'date',
  'note',
] as const;

/** `?format=csv`, or `Accept: text/csv`, gives all reports as one file; JSON comes in pages. */
function addReportRoute(server: Server, reports: Reports): void {
  server.get(
    '/api/ussd/reports',
    { schema: { querystring: reportQuerySchema, response: { 200: tableReply } } },
    async (request, reply) => {
      const { query, headers, operator } = request;
      const { limit, offset, format } = query;
      const show = showCallersTo(operator);
      const isJson = format === undefined ? !headers.accept?.includes('text/csv') : format === 'json';
      if (isJson) {
        const { reports: page, total } = await reports.list({ limit, offset });
        return ussdReportListSchema.parse({ reports: page.map(show), total, limit, offset });
      }
      reply.header('content-disposition', 'attachment; filename="reports.csv"');
      const pieces = showPieces(reports.listAll(), show);
      return reply
        .type('text/csv; charset=utf-8')
        .send(toExport(server, exportReports(pieces, format === 'spreadsheet')));
    },
  );
}

async function* exportReports(all: AsyncIterable<UssdReport[]>, forSpreadsheet: boolean): AsyncGenerator<string> {
  yield toCsvLines([[...csvColumns]]);
  for await (const piece of all) {
    const rows = piece.map((report) => csvColumns.map((column) => report[column] ?? ''));
    yield toCsvLines(rows, { forSpreadsheet });
  }
}

function toDebugRecord(session: Session, activeSessions: string[], menu: Menu | undefined): UssdDebugRecord {
  const dialogue = unpackDialogue(session.dialogue);
  if (!dialogue) throw new AppError('SESSION_NOT_FOUND', 'The session was stored by a newer version of the service.');
  const state = menu?.states.get(dialogue.state);
  return {
    sessionId: session.id,
    debugInfo: {
      state: dialogue.state,
      status: 'active',
      context: {
        sessionId: session.id,
        phoneNumber: session.phone,
        serviceCode: session.serviceCode,
        message: session.reply.slice(4),
        isAuthenticated: dialogue.account !== undefined,
        asksSecret: state?.kind === 'prompt' && state.secret,
        language: dialogue.language,
        startedAt: new Date(session.openedAt).toISOString(),
        lastSeenAt: new Date(session.seenAt).toISOString(),
      },
    },
    activeSessions,
  };
}
