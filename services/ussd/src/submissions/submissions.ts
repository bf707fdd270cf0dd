import type { Store } from '@palaver/store';
import { readPieces, unreadableText } from '@palaver/store/internal';
import type { Transaction } from 'kysely';
import type { Submission } from '../forms/protocol.ts';
import { sealedTables } from '../store/sealed-tables.ts';
import type { SubmissionTable, UssdTables } from '../store/tables.ts';

export interface NewSubmission extends Submission {
  program: string;
  phone: string;
  now: number;
}

/** A completed form as operators see it. */
export interface StoredSubmission {
  instanceId: string;
  program: string;
  formId: string;
  formVersion: string;
  phoneNumber: string;
  createdAt: string;
  status: SubmissionTable['status'];
  attempts: number;
  fault: string | null;
  answers: Readonly<Record<string, string>>;
  /** As ODK writes it; not in lists. */
  xml?: string;
}

export interface SubmissionFilter {
  formId?: string | undefined;
  status?: SubmissionTable['status'] | undefined;
}

export interface RetryOnly {
  instanceId?: string | undefined;
  program?: string | undefined;
  formId?: string | undefined;
}

export interface Submissions {
  insert(trx: Transaction<UssdTables>, submission: NewSubmission): Promise<void>;
  /** The newest first. */
  find(filter: SubmissionFilter, page: { limit: number; offset?: number }): Promise<StoredSubmission[]>;
  /** All that match, the newest first, in pieces; each once, whatever is added or sent meanwhile. */
  all(filter: SubmissionFilter, options?: { hasXml?: boolean }): AsyncGenerator<StoredSubmission[]>;
  load(instanceId: string): Promise<StoredSubmission | undefined>;
  /** Queues failed ones again: one, those of a form or program, or all of them. Gives their number. */
  retry(now: number, only?: RetryOnly): Promise<number>;
  /** Forms with submissions, and how many there are of each status. */
  /** How many waited when it was last asked: metrics do not wait for the database. */
  countWaiting(): WaitingSubmissions;
  forms(): Promise<{ formId: string; status: string; count: number }[]>;
}

/** What has not arrived at the forms server. */
export interface WaitingSubmissions {
  queued: number;
  failed: number;
}

export interface SubmissionOptions {
  /** New ones are for a server that takes them. */
  isSent?: boolean;
}

const pieceSize = 200;
/** The XML of a form may have a hundred kilobytes. */
const xmlPieceSize = 20;
const listed = [
  'id',
  'program',
  'form_id',
  'form_version',
  'phone',
  'created_at',
  'status',
  'attempts',
  'fault',
  'answers',
] as const satisfies (keyof SubmissionTable)[];
type ListedRow = Pick<SubmissionTable, (typeof listed)[number]> & { xml?: string };
const unreadable = { phone: unreadableText, xml: unreadableText, answers: JSON.stringify({ unreadable: 'true' }) };

export function createSubmissions(
  { db, readDb, cipher }: Pick<Store<UssdTables>, 'db' | 'readDb' | 'cipher'>,
  { isSent = false }: SubmissionOptions = {},
): Submissions {
  let waiting: WaitingSubmissions = { queued: 0, failed: 0 };
  let isCounting = false;
  const count = async () => {
    isCounting = true;
    try {
      const rows = await readDb
        .selectFrom('ussd_submission')
        .select(['status', ({ fn }) => fn.countAll<number>().as('count')])
        .where('status', 'in', ['queued', 'failed'])
        .groupBy('status')
        .execute();
      const countOf = (status: string) => Number(rows.find((row) => row.status === status)?.count ?? 0);
      waiting = { queued: countOf('queued'), failed: countOf('failed') };
    } finally {
      isCounting = false;
    }
  };
  const open = (row: ListedRow) => toSubmission(cipher.openRow(sealedTables.submission, row, unreadable));
  const select = <Column extends keyof SubmissionTable>(columns: readonly Column[], filter: SubmissionFilter) => {
    const { formId, status } = filter;
    let query = readDb.selectFrom('ussd_submission').select(columns).orderBy('created_at', 'desc').orderBy('id');
    if (formId !== undefined) query = query.where('form_id', '=', formId);
    if (status !== undefined) query = query.where('status', '=', status);
    return query;
  };
  return {
    async insert(trx, { instanceId, program, formId, version, phone, xml, answers, now }) {
      const row: SubmissionTable = {
        id: instanceId,
        program,
        form_id: formId,
        form_version: version,
        phone,
        xml,
        answers: JSON.stringify(answers),
        created_at: now,
        status: isSent ? 'queued' : 'stored',
        attempts: 0,
        next_at: isSent ? now : null,
        fault: null,
        claimed_by: null,
        lease_until: 0,
      };
      await trx
        .insertInto('ussd_submission')
        .values(cipher.sealRow(sealedTables.submission, row))
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
    },
    async find(filter, { limit, offset = 0 }) {
      return (await select(listed, filter).limit(limit).offset(offset).execute()).map(open);
    },
    async *all(filter, { hasXml = false } = {}) {
      const query = select(hasXml ? [...listed, 'xml'] : listed, filter);
      const load = (after: ListedRow | undefined, limit: number): Promise<ListedRow[]> => {
        if (!after) return query.limit(limit).execute();
        const { created_at, id } = after;
        return query
          .where('created_at', '<=', created_at)
          .where(({ eb, or }) => or([eb('created_at', '<', created_at), eb('id', '>', id)]))
          .limit(limit)
          .execute();
      };
      for await (const rows of readPieces(load, { size: hasXml ? xmlPieceSize : pieceSize })) yield rows.map(open);
    },
    async load(id) {
      const row = await db.selectFrom('ussd_submission').selectAll().where('id', '=', id).executeTakeFirst();
      return row && open(row);
    },
    async retry(now, { instanceId, program, formId } = {}) {
      let query = db
        .updateTable('ussd_submission')
        .set({ status: 'queued', attempts: 0, next_at: now })
        .where('status', '=', 'failed');
      if (instanceId !== undefined) query = query.where('id', '=', instanceId);
      if (program !== undefined) query = query.where('program', '=', program);
      if (formId !== undefined) query = query.where('form_id', '=', formId);
      return Number((await query.executeTakeFirst()).numUpdatedRows);
    },
    countWaiting() {
      if (isSent && !isCounting) void count().catch(() => {});
      return waiting;
    },
    async forms() {
      const rows = await readDb
        .selectFrom('ussd_submission')
        .select(['form_id', 'status', ({ fn }) => fn.countAll<number>().as('count')])
        .groupBy(['form_id', 'status'])
        .orderBy('form_id')
        .orderBy('status')
        .execute();
      return rows.map(({ form_id: formId, status, count }) => ({ formId, status, count: Number(count) }));
    },
  };
}

function toSubmission(row: ListedRow): StoredSubmission {
  return {
    instanceId: row.id,
    program: row.program,
    formId: row.form_id,
    formVersion: row.form_version,
    phoneNumber: row.phone,
    createdAt: new Date(row.created_at).toISOString(),
    status: row.status,
    attempts: row.attempts,
    fault: row.fault,
    answers: JSON.parse(row.answers),
    ...(row.xml !== undefined && { xml: row.xml }),
  };
}
