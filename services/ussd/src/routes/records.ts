import { Readable } from 'node:stream';
import { boundedText, offsetPageQuerySchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { toCsvLines } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { RecordKind, RecordStore } from '../records/records.ts';

const paramsSchema = z.object({ program: boundedText(0, 60), kind: boundedText(0, 60) });
const querySchema = offsetPageQuerySchema.extend({ format: z.enum(['json', 'csv', 'spreadsheet']).default('json') });
const pieceSize = 1_000;

/** What programs have stored, for operators. */
export function addRecordRoutes(server: Server, records: RecordStore): void {
  server.get('/api/ussd/records', async () => ({ kinds: await records.kinds() }));
  server.get(
    '/api/ussd/records/:program/:kind',
    { schema: { params: paramsSchema, querystring: querySchema } },
    async ({ params, query }, reply) => {
      const { limit, offset, format } = query;
      if (format === 'json') return { records: await records.find({ ...params, limit, offset }), limit, offset };
      reply.header('content-disposition', `attachment; filename="records.csv"`);
      return reply
        .type('text/csv; charset=utf-8')
        .send(Readable.from(exportRecords(records, params, format === 'spreadsheet')));
    },
  );
}

async function* exportRecords(records: RecordStore, kind: RecordKind, forSpreadsheet: boolean): AsyncGenerator<string> {
  let names: string[] | undefined;
  for (let offset = 0; ; offset += pieceSize) {
    const piece = await records.find({ ...kind, limit: pieceSize, offset });
    names ??= [...new Set(piece.flatMap(({ fields }) => Object.keys(fields)))].sort();
    if (offset === 0) yield toCsvLines([['id', 'phoneNumber', 'createdAt', ...names]]);
    const columns = names;
    yield toCsvLines(
      piece.map(({ id, phoneNumber, createdAt, fields }) => [
        id,
        phoneNumber,
        createdAt,
        ...columns.map((name) => String(fields[name] ?? '')),
      ]),
      { forSpreadsheet },
    );
    if (piece.length < pieceSize) return;
  }
}
