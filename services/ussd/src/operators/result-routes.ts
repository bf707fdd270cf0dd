import { AppError } from '@palaver/contract';
import {
  boundedText,
  deliveryStatuses,
  offsetPageQuerySchema,
  programStatsSchema,
  resultPageSchema,
  resultSetsSchema,
  resultSources,
  resultSummarySchema,
} from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { createLimiter, maskPhone, sendFile, tableReply, toAuditBy } from '@palaver/service-kit/internal';
import { mapRows } from '@palaver/store/internal';
import { z } from 'zod';
import { readStats, toDate } from '../calls/read-stats.ts';
import { dayMs, dayOf } from '../store/tables.ts';
import { programNameSchema, programVersionSchema } from './program-routes.ts';
import { maxCompared, type Result, type ResultFilter } from './results.ts';
import { mapPieces, showCallersTo, toCsv, toJson } from './show-rows.ts';
import type { OperatorParts } from './start-operators.ts';
import { summarize } from './summarize.ts';

const maxExported = 200_000;
/** Each decrypts and compares up to 20,000 results. */
const scansAtOnce = { concurrency: 2, maxWaiting: 20 };

const params = z.object({ program: programNameSchema, source: z.enum(resultSources), name: boundedText(1, 200) });
const filterSchema = z.object({
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  status: z.enum(deliveryStatuses).optional(),
  column: boundedText(0, 200).optional(),
  value: boundedText(0, 500).optional(),
  search: boundedText(1, 100).optional(),
});

const schemas = {
  sets: { params: params.pick({ program: true }), response: { 200: resultSetsSchema } },
  page: {
    params,
    querystring: filterSchema.extend(offsetPageQuerySchema.shape),
    response: { 200: resultPageSchema },
  },
  summary: { params, querystring: filterSchema, response: { 200: resultSummarySchema } },
  file: {
    params,
    querystring: filterSchema.extend({ format: z.enum(['csv', 'json']).default('csv') }),
    response: { 200: tableReply },
  },
  stats: {
    params: z.object({ name: programNameSchema }),
    querystring: z.object({
      from: z.iso.date().optional(),
      to: z.iso.date().optional(),
      version: programVersionSchema.optional(),
      state: boundedText(0, 500).optional(),
    }),
    response: { 200: programStatsSchema },
  },
};

export function addResultRoutes(server: Server, { results, callerReferences, audit }: OperatorParts): void {
  const path = '/api/ussd/programs/:program/results';
  const scan = createLimiter({
    ...scansAtOnce,
    toError: () => new AppError('LIMIT_REACHED', 'Other results are being searched. Try again in a minute.'),
  });
  const toView = ({ phoneNumber, ...rest }: Result, caller: string) => ({
    ...rest,
    caller: callerReferences.create(caller),
    maskedNumber: maskPhone(phoneNumber),
  });

  server.get(path, { schema: schemas.sets }, async ({ params: { program } }) => ({
    sets: await results.sets(program),
  }));
  server.get(`${path}/:source/:name`, { schema: schemas.page }, async ({ params: set, query: asked, operator }) => {
    const { limit, offset, ...query } = asked;
    const show = showCallersTo(operator);
    const load = () => results.page(set, { ...toFilter(query), show }, { limit, offset });
    const isScan = query.column !== undefined || query.search !== undefined;
    const page = await (isScan ? scan(load) : load());
    const shown = await mapRows(page.results, (result) => toView(show(result), result.phoneNumber));
    return { ...page, results: shown, limit, offset };
  });
  server.get(`${path}/:source/:name/summary`, { schema: schemas.summary }, async ({ params: set, query, operator }) => {
    const show = showCallersTo(operator);
    const filter = { ...toFilter(query), show };
    return scan(async () => {
      const total = await results.count(set, filter);
      const shown = mapPieces(results.all(set, filter), show);
      return { ...(await summarize(shown, maxCompared)), isPartial: total > maxCompared };
    });
  });
  const file = { onRequest: server.operatorGuardFor('operator'), config: { audited: true }, schema: schemas.file };
  server.get(`${path}/:source/:name/export`, file, async (request, reply) => {
    const { format, ...query } = request.query;
    const { program, source, name } = request.params;
    const filter = toFilter(query);
    const rows = await results.count(request.params, filter);
    if (rows > maxExported)
      throw new AppError('VALIDATION_FAILED', `There are more than ${maxExported} results. Choose a shorter period.`);
    const details = { source, name, format, rows };
    await audit.record({ ...toAuditBy(request), action: 'results.exported', subject: program, details });
    const all = () => results.all(request.params, filter);
    const title = `${program}-${name.replace(/[^\w-]/g, '_')}` as const;
    if (format === 'json') return sendFile(server, reply, `${title}.json`, toJson(all()));
    const toLines = () => mapPieces(all(), ({ delivery, ...result }) => ({ ...result, ...delivery }));
    const columns = ['id', 'phoneNumber', 'createdAt', ...(source === 'records' ? [] : ['status', 'fault'])];
    return sendFile(server, reply, `${title}.csv`, toCsv(toLines, { columns, valuesOf: ({ values }) => values }));
  });
}

function toFilter({ from, to, ...filter }: z.infer<typeof filterSchema>): ResultFilter {
  const [since, until] = [from && Date.parse(from), to && Date.parse(to) + dayMs];
  return { ...filter, ...(since && { since }), ...(until && { until }) };
}

const maxDays = 400;
const defaultDays = 30;

export function addProgramStatsRoute(server: Server, { store, stats, clock }: OperatorParts): void {
  server.get('/api/ussd/programs/:name/stats', { schema: schemas.stats }, async ({ params, query }) => {
    const { name: program } = params;
    const { from, to, version, state } = query;
    const last = to === undefined ? dayOf(clock.now()) : dayOf(Date.parse(to));
    const first = from === undefined ? last - defaultDays + 1 : dayOf(Date.parse(from));
    if (first > last || last - first >= maxDays)
      throw new AppError('VALIDATION_FAILED', `from and to span 1 to ${maxDays} days.`);
    // Writes this instance's counts first. Other instances write theirs within seconds; a read replica may be behind.
    await stats.flush();
    const report = await readStats(store, { program, from: first, to: last, version, state });
    return { name: program, from: toDate(first), to: toDate(last), ...report };
  });
}
