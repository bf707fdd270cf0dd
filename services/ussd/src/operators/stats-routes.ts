import { AppError } from '@palaver/contract';
import { boundedText, programStatsSchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import type { DatabaseClock, Store } from '@palaver/store';
import { z } from 'zod';
import type { ProgramStats } from '../calls/program-stats.ts';
import { readStats, toDate } from '../calls/read-stats.ts';
import type { UssdTables } from '../store/tables.ts';
import { dayOf } from '../store/tables.ts';
import { programNameSchema, programVersionSchema } from './program-routes.ts';

export interface ProgramStatsParts {
  store: Pick<Store<UssdTables>, 'readDb'>;
  stats: Pick<ProgramStats, 'flush'>;
  clock: Pick<DatabaseClock, 'now'>;
}

const maxDays = 400;
const defaultDays = 30;

const querySchema = z.object({
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  version: programVersionSchema.optional(),
  state: boundedText(0, 500).optional(),
});

/** How callers move through a program, for operators: counts alone. */
export function addProgramStatsRoute(server: Server, { store, stats, clock }: ProgramStatsParts): void {
  server.get(
    '/api/ussd/programs/:name/stats',
    {
      schema: {
        params: z.object({ name: programNameSchema }),
        querystring: querySchema,
        response: { 200: programStatsSchema },
      },
    },
    async ({ params: { name: program }, query: { from, to, version, state } }) => {
      const last = to === undefined ? dayOf(clock.now()) : dayOf(Date.parse(to));
      const first = from === undefined ? last - defaultDays + 1 : dayOf(Date.parse(from));
      if (first > last || last - first >= maxDays)
        throw new AppError('VALIDATION_FAILED', `from and to span 1 to ${maxDays} days.`);
      // Writes this instance's counts first. Other instances write theirs within seconds; a read replica may be behind.
      await stats.flush();
      const report = await readStats(store, { program, from: first, to: last, version, state });
      return { name: program, from: toDate(first), to: toDate(last), ...report };
    },
  );
}
