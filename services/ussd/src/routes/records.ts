import { boundedText, offsetPageQuerySchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { tableReply, toExport } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { showCallersTo, showPieces } from '../callers/show-callers.ts';
import type { RecordStore } from '../records/records.ts';
import { toCsv } from '../results/export-results.ts';
import type { Results } from '../results/results.ts';

const paramsSchema = z.object({ program: boundedText(0, 60), kind: boundedText(0, 60) });
const querySchema = offsetPageQuerySchema.extend({ format: z.enum(['json', 'csv', 'spreadsheet']).default('json') });

export interface RecordRouteParts {
  records: RecordStore;
  results: Results;
}

/** What programs have stored, for operators. */
export function addRecordRoutes(server: Server, { records, results }: RecordRouteParts): void {
  server.get('/api/ussd/records', async () => ({ kinds: await records.kinds() }));
  server.get(
    '/api/ussd/records/:program/:kind',
    { schema: { params: paramsSchema, querystring: querySchema, response: { 200: tableReply } } },
    async ({ params, query, operator }, reply) => {
      const { limit, offset, format } = query;
      const show = showCallersTo(operator);
      if (format === 'json')
        return { records: (await records.list({ ...params, limit, offset })).map(show), limit, offset };
      reply.header('content-disposition', `attachment; filename="records.csv"`);
      const set = { program: params.program, source: 'records', name: params.kind } as const;
      const pieces = () => showPieces(results.all(set, {}), show);
      return reply
        .type('text/csv; charset=utf-8')
        .send(toExport(server, toCsv(pieces, { source: 'records', forSpreadsheet: format === 'spreadsheet' })));
    },
  );
}
