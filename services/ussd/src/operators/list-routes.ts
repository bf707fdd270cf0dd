import { AppError } from '@palaver/contract';
import { boundedText, offsetPageQuerySchema, ussdReportListSchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { sendFile, tableReply, toReply } from '@palaver/service-kit/internal';
import { mapRows } from '@palaver/store/internal';
import { z } from 'zod';
import { toSubmission } from '../outgoing/submissions.ts';
import { reportKind, rowToReport, toRecord } from '../store/records.ts';
import type { Row, Rows } from '../store/rows.ts';
import { toTime } from '../store/tables.ts';
import { toResult } from './results.ts';
import { mapPieces, showCallersTo, submissionCsv, toCsv, toXml } from './show-rows.ts';
import type { OperatorParts } from './start-operators.ts';

const tableQuerySchema = offsetPageQuerySchema.extend({
  format: z.enum(['json', 'csv', 'spreadsheet']).optional(),
});
const submissionQuerySchema = offsetPageQuerySchema.extend({
  formId: boundedText(0, 200).optional(),
  status: z.enum(['stored', 'queued', 'sent', 'failed']).optional(),
  format: z.enum(['json', 'csv', 'spreadsheet', 'xml']).default('json'),
});
const smsQuerySchema = offsetPageQuerySchema.extend({
  status: z.enum(['queued', 'sending', 'sent', 'failed']).optional(),
});
const submissionReply = toReply('A page as JSON, or all of it as a file', 'application/json', 'text/csv', 'text/xml');
const reportColumns = ['reference', 'phoneNumber', 'type', 'amount', 'createdAt', 'unit', 'place', 'date', 'note'];
const [id, program] = [boundedText(0, 200).optional(), boundedText(0, 60).optional()];

const schemas = {
  reports: { querystring: tableQuerySchema, response: { 200: tableReply } },
  records: {
    params: z.object({ program: boundedText(0, 60), kind: boundedText(0, 60) }),
    querystring: tableQuerySchema,
    response: { 200: tableReply },
  },
  submissions: { querystring: submissionQuerySchema, response: { 200: submissionReply } },
  submission: {
    params: z.object({ instanceId: boundedText(0, 200) }),
    response: { 200: toReply('The form as XML', 'text/xml') },
  },
  messages: { querystring: smsQuerySchema },
  submissionRetry: { body: z.strictObject({ instanceId: id, program, formId: id }) },
  messageRetry: { body: z.strictObject({ id, program }) },
};

export function addListRoutes(server: Server, { rows, submissions, messages, clock }: OperatorParts): void {
  const reports = { program: reportKind.program, name: reportKind.kind };
  // The header `Accept` may ask for the file too.
  server.get('/api/ussd/reports', { schema: schemas.reports }, async ({ query, headers, operator }, reply) => {
    const { limit, offset, format = headers.accept?.includes('text/csv') ? 'csv' : 'json' } = query;
    const show = (row: Row) => showCallersTo(operator)(rowToReport(row));
    if (format === 'json') {
      const page = await mapRows(await rows.page('records', reports, { limit, offset }), show);
      const [{ count: total } = { count: 0 }] = await rows.count('records', [], reports);
      return ussdReportListSchema.parse({ reports: page, total, limit, offset });
    }
    const all = () => mapPieces(rows.pieces('records', reports), show);
    const forSpreadsheet = format === 'spreadsheet';
    return sendFile(server, reply, 'reports.csv', toCsv(all, { columns: reportColumns, forSpreadsheet }));
  });

  server.get('/api/ussd/records', async () => ({
    kinds: (await rows.count('records', ['program', 'name'], {})).map(({ name, ...kind }) => ({ ...kind, kind: name })),
  }));
  server.get('/api/ussd/records/:program/:kind', { schema: schemas.records }, async (request, reply) => {
    const { limit, offset, format = 'json' } = request.query;
    const wanted = { program: request.params.program, name: request.params.kind };
    const show = showCallersTo(request.operator);
    const toShown = ({ fields = '{}', ...row }: Row) => show(toRecord({ ...row, fields }));
    if (format === 'json')
      return { records: await mapRows(await rows.page('records', wanted, { limit, offset }), toShown), limit, offset };
    const all = () => mapPieces(rows.pieces('records', wanted), (row) => show(toResult(row)));
    const forSpreadsheet = format === 'spreadsheet';
    const columns = ['id', 'phoneNumber', 'createdAt'];
    return sendFile(server, reply, 'records.csv', toCsv(all, { columns, valuesOf, forSpreadsheet }));
  });

  server.get('/api/ussd/submissions', { schema: schemas.submissions }, async ({ query, operator }, reply) => {
    const { limit, offset, format, formId, status } = query;
    const show = (row: Row) => showCallersTo(operator)(toSubmission(row));
    const filter = { name: formId, status };
    if (format === 'json') {
      const page = await mapRows(await rows.page('forms', filter, { limit, offset }), show);
      return { submissions: page, forms: await countForms(rows), limit, offset };
    }
    const all = () => mapPieces(rows.pieces('forms', filter, { hasXml: format === 'xml' }), show);
    if (format === 'xml') return sendFile(server, reply, 'submissions.xml', toXml(all()));
    const forSpreadsheet = format === 'spreadsheet';
    return sendFile(server, reply, 'submissions.csv', toCsv(all, { ...submissionCsv, forSpreadsheet }));
  });
  const submission = '/api/ussd/submissions/:instanceId';
  server.get(submission, { schema: schemas.submission }, async ({ params: { instanceId: id }, operator }, reply) => {
    const [found] = await rows.page('forms', { id }, { limit: 1, hasXml: true });
    if (!found) throw new AppError('NOT_FOUND', 'There is no submission with this id.');
    return reply.type('text/xml; charset=utf-8').send(showCallersTo(operator)(toSubmission(found)).xml);
  });

  server.get('/api/ussd/sms', { schema: schemas.messages }, async ({ query, operator }) => {
    const { limit, offset, status } = query;
    const found = await rows.page('messages', { status }, { limit, offset });
    return { messages: found.map(toMessage).map(showCallersTo(operator)), limit, offset };
  });

  const onRequest = server.operatorGuardFor('admin');
  server.post('/api/ussd/submissions/retry', { onRequest, schema: schemas.submissionRetry }, async ({ body }) => ({
    queued: await submissions.retry(clock.now(), body),
  }));
  server.post('/api/ussd/sms/retry', { onRequest, schema: schemas.messageRetry }, async ({ body }) => ({
    queued: await messages.retry(clock.now(), body),
  }));
}

export async function countForms(rows: Rows) {
  return (await rows.count('forms', ['name', 'status'], {})).map(({ name, ...form }) => ({ formId: name, ...form }));
}

const valuesOf = ({ values }: { values: Record<string, string> }) => values;

/** Without its text, which may hold a voucher or a name. */
function toMessage({ id, program, phone: phoneNumber, created_at, status, attempts, fault, receipt }: Row) {
  return { id, program, phoneNumber, createdAt: toTime(created_at), status, attempts, fault, receipt };
}
