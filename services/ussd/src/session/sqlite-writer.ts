import type { Store } from '@palaver/store';
import { runForEach } from '@palaver/store/internal';
import { sealedTables } from '../store/sealed-tables.ts';
import type { SessionTable, UssdTables } from '../store/tables.ts';
import { sessionStatus } from './session.ts';
import { type ApplyWrites, forgetNotices, type SessionWrite, toForms, toRow, toShown } from './session-writes.ts';

type Columns = readonly (keyof SessionTable)[];

/** What a step changes. No index has any of it: SQLite rewrites the index of every column that is set. */
const ofStep: Columns = [
  'service_code',
  'version',
  'text_hash',
  'text_length',
  'opening',
  'dialogue',
  'reply',
  'seen_at',
];
/** The number of a session never changes: requests from other numbers are refused. */
const changing: Columns = [...ofStep, 'status', 'opened_at'];
const all: Columns = ['id', 'phone', ...changing];

const writeSession = `insert into ussd_session (${all.join(', ')}) values (${all.map(() => '?').join(', ')})
  on conflict (id) do update set ${changing.map((name) => `${name} = excluded.${name}`).join(', ')}
  where ussd_session.version = excluded.version - 1`;

const writeStep = `update ussd_session set ${ofStep.map((name) => `${name} = ?`).join(', ')}
  where id = ? and version = ? and status = ${sessionStatus.active}`;

const writeForm = `insert into ussd_profile (phone, resume, resume_at) values (?, ?, ?)
  on conflict (phone) do update set resume = excluded.resume, resume_at = excluded.resume_at`;

/** A statement for each session: one for many has to return which of them it wrote, and costs SQLite more. */
export function createSqliteWriter({ cipher }: Pick<Store<UssdTables>, 'cipher'>): ApplyWrites {
  const toSealed = ({ session }: SessionWrite) => cipher.sealRow(sealedTables.session, toRow(session));
  return async (trx, writes) => {
    const written = new Set<string>();
    const write = async (statement: string, some: SessionWrite[], toList: typeof toValues) => {
      const changes = await runForEach(trx, statement, some.map(toSealed).map(toList));
      for (const [i, { session }] of some.entries()) if (changes[i] === 1) written.add(session.id);
    };
    const steps = writes.filter(({ isStep }) => isStep);
    await write(writeStep, steps, toStepValues);
    // A sweep may have marked the session as expired since the key press came, which was in time.
    await write(
      writeSession,
      writes.filter(({ session }) => !written.has(session.id)),
      toValues,
    );
    const forms = toForms(
      cipher,
      writes.filter(({ session }) => written.has(session.id)),
    );
    const formValues = forms.map(({ phone, resume, resume_at }) => [phone, resume, resume_at]);
    await runForEach(trx, writeForm, formValues);
    await forgetNotices(trx, toShown(cipher, writes, written));
    return writes.map(({ session }) => written.has(session.id));
  };
}

const toValues = (row: SessionTable) => all.map((name) => row[name]);

const toStepValues = (row: SessionTable) => [...ofStep.map((name) => row[name]), row.id, row.version - 1];
