import type { Env } from '@palaver/service-kit';
import { toCsv, toJsonLines, toXml } from '../submissions/export-submissions.ts';
import { createSubmissions, type SubmissionFilter, type Submissions } from '../submissions/submissions.ts';
import { type OpenDatabase, withDatabase } from './open-database.ts';

export type ExportFormat = 'csv' | 'json' | 'xml';
export type SubmissionQuery = SubmissionFilter;

const exports = { csv: toCsv, json: toJsonLines, xml: toXml };

/** What `palaver submissions list` shows: counts of each form, and the newest. */
export function listSubmissions(env: Env, { limit, ...query }: SubmissionQuery & { limit: number }) {
  return withSubmissions(env, async (submissions) => ({
    forms: await submissions.forms(),
    submissions: await submissions.find(query, { limit }),
  }));
}

/** Writes all submissions, piece by piece. */
export function exportSubmissions(
  env: Env,
  { format, ...query }: SubmissionQuery & { format: ExportFormat },
  write: (piece: string) => void,
): Promise<void> {
  return withSubmissions(env, async (submissions, audit) => {
    await audit.record({ actor: 'command', action: 'operator.read', details: { command: 'submissions export' } });
    for await (const piece of exports[format](() => submissions.all(query, { hasXml: format === 'xml' }))) write(piece);
  });
}

/** Queues what the forms server has refused again: one, or all. */
export function retrySubmissions(env: Env, instanceId?: string): Promise<number> {
  return withSubmissions(env, async (submissions, audit) => {
    const queued = await submissions.retry(Date.now(), { instanceId });
    await audit.record({
      actor: 'command',
      action: 'operator.write',
      details: { command: 'submissions retry', queued },
    });
    return queued;
  });
}

function withSubmissions<T>(
  env: Env,
  use: (submissions: Submissions, audit: OpenDatabase['audit']) => Promise<T>,
): Promise<T> {
  return withDatabase(env, ({ store, audit }) => use(createSubmissions(store), audit));
}
