import type { OpenRosaClient } from '@palaver/forms/internal';
import type { Submission } from '@palaver/program/internal';
import type { Row } from '../store/rows.ts';
import { insertOnce, type SubmissionTable, sealedTables, type Trx, toTime, type UssdStore } from '../store/tables.ts';
import { createLastKnown, type OutboxParts, retryFailed, startOutbox, unsent } from './outbox.ts';

export interface NewSubmission extends Submission {
  program: string;
  phone: string;
  now: number;
}

export type SubmissionStatus = SubmissionTable['status'];

export type StoredSubmission = ReturnType<typeof toSubmission>;

type RetryOnly = Partial<Record<'instanceId' | 'program' | 'formId', string | undefined>>;

export function createSubmissions({ db, readDb, cipher }: UssdStore, { isSent = false }: { isSent?: boolean } = {}) {
  const countWaiting = createLastKnown({ queued: 0, failed: 0 }, async () => {
    const rows = await readDb
      .selectFrom('ussd_submission')
      .select(['status', ({ fn }) => fn.countAll<number>().as('count')])
      .where('status', 'in', ['queued', 'failed'])
      .groupBy('status')
      .execute();
    const countOf = (status: string) => Number(rows.find((row) => row.status === status)?.count ?? 0);
    return { queued: countOf('queued'), failed: countOf('failed') };
  });
  return {
    async insert(trx: Trx, { instanceId, program, formId, version, phone, xml, answers, now }: NewSubmission) {
      const row: SubmissionTable = {
        id: instanceId,
        program,
        form_id: formId,
        form_version: version,
        phone,
        xml,
        created_at: now,
        answers: JSON.stringify(answers),
        ...unsent,
        ...(isSent ? { status: 'queued', next_at: now } : { status: 'stored', next_at: null }),
      };
      await insertOnce(trx, 'ussd_submission', cipher.sealRow(sealedTables.submission, row));
    },
    retry: (now: number, { instanceId, program, formId }: RetryOnly = {}) =>
      retryFailed(db, 'ussd_submission', { now, only: { id: instanceId, program, form_id: formId } }),
    countWaiting: () => (isSent ? countWaiting() : { queued: 0, failed: 0 }),
  };
}

export type Submissions = ReturnType<typeof createSubmissions>;

export function toSubmission(row: Row) {
  return {
    instanceId: row.id,
    program: row.program,
    formId: row.form_id ?? '',
    formVersion: row.form_version ?? '',
    phoneNumber: row.phone,
    createdAt: toTime(row.created_at),
    status: row.status as SubmissionStatus,
    attempts: row.attempts ?? 0,
    fault: row.fault ?? null,
    answers: JSON.parse(row.answers ?? '{}') as Record<string, string>,
    // Not in lists.
    ...(row.xml !== undefined && { xml: row.xml }),
  };
}

export interface SenderParts extends Omit<OutboxParts<'ussd_submission'>, 'table' | 'claimedStatus' | 'send'> {
  client: Pick<OpenRosaClient, 'send'>;
}

/** A submission whose answer was lost is sent again: the server knows it by its instance id. */
export function startSender({ client, ...parts }: SenderParts) {
  return startOutbox({
    ...parts,
    table: 'ussd_submission',
    claimedStatus: 'queued',
    async send(row) {
      const sent = await client.send(row.id, parts.store.cipher.openRow(sealedTables.submission, row).xml);
      return sent.ok ? sent : { ok: false, fault: sent.fault, isFinal: sent.refused };
    },
  });
}
