import type { Env } from '@palaver/service-kit';
import { countForms } from '../operators/list-routes.ts';
import { mapPieces, submissionCsv, toCsv, toJsonLines, toXml } from '../operators/show-rows.ts';
import { createSubmissions, type SubmissionStatus, toSubmission } from '../outgoing/submissions.ts';
import { createRows } from '../store/rows.ts';
import { withDatabase } from './database.ts';

export type ExportFormat = 'csv' | 'json' | 'xml';
export interface SubmissionQuery {
  formId?: string | undefined;
  status?: SubmissionStatus | undefined;
}

export function listSubmissions(env: Env, { limit, formId, status }: SubmissionQuery & { limit: number }) {
  return withDatabase(env, async ({ store }) => {
    const rows = createRows(store);
    const submissions = (await rows.page('forms', { name: formId, status }, { limit })).map(toSubmission);
    return { forms: await countForms(rows), submissions };
  });
}

export function exportSubmissions(
  env: Env,
  { format, formId, status }: SubmissionQuery & { format: ExportFormat },
  write: (piece: string) => void,
): Promise<void> {
  return withDatabase(env, async ({ store, audit }) => {
    await audit.record({ actor: 'command', action: 'operator.read', details: { command: 'submissions export' } });
    const pieces = () => createRows(store).pieces('forms', { name: formId, status }, { hasXml: format === 'xml' });
    const all = () => mapPieces(pieces(), toSubmission);
    const files = { csv: () => toCsv(all, submissionCsv), json: () => toJsonLines(all()), xml: () => toXml(all()) };
    for await (const piece of files[format]()) write(piece);
  });
}

export function retrySubmissions(env: Env, instanceId?: string): Promise<number> {
  return withDatabase(env, async ({ store, audit }) => {
    const queued = await createSubmissions(store).retry(Date.now(), { instanceId });
    const details = { command: 'submissions retry', queued };
    await audit.record({ actor: 'command', action: 'operator.write', details });
    return queued;
  });
}
