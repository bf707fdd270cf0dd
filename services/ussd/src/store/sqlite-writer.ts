import { runForEach } from '@palaver/store/internal';
import { forgetNotices } from './notices.ts';
import { type ApplyWrites, type SessionWrite, sessionStatus, toForms, toShown } from './session-row.ts';
import { type SessionTable, sealedTables, type UssdStore } from './tables.ts';

type Columns = readonly (keyof SessionTable)[];

/** No index has any of these: SQLite rewrites the index of every column that is set. */
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

const insertSession = `insert into ussd_session (${all.join(', ')}) values (${all.map(() => '?').join(', ')})
  on conflict (id) do nothing`;

const toUpdate = (columns: Columns) =>
  `update ussd_session set ${columns.map((name) => `${name} = ?`).join(', ')} where id = ? and version = ?`;
const updateSession = toUpdate(changing);
const writeStep = `${toUpdate(ofStep)} and status = ${sessionStatus.active}`;

const writeForm = `insert into ussd_profile (phone, resume, resume_at, first_session) values (?, ?, ?, ?)
  on conflict (phone) do update set resume = excluded.resume, resume_at = excluded.resume_at,
  first_session = coalesce(ussd_profile.first_session, excluded.first_session)`;

/** A statement for each session: one for many has to return which of them it wrote, and costs SQLite more. */
export function createSqliteWriter({ cipher }: UssdStore): ApplyWrites {
  const toSealed = ({ session }: SessionWrite) => cipher.sealRow(sealedTables.session, session);
  return async (trx, writes) => {
    const written = new Set<string>();
    const write = async (statement: string, some: SessionWrite[], toList: ReturnType<typeof toUpdateValues>) => {
      const changes = await runForEach(trx, statement, some.map(toSealed).map(toList));
      for (const [i, { session }] of some.entries()) if (changes[i] === 1) written.add(session.id);
    };
    const steps = writes.filter(({ isStep }) => isStep);
    await write(writeStep, steps, toUpdateValues(ofStep));
    // A sweep may have marked the session as expired since the key press came, which was in time.
    const others = writes.filter(({ session }) => !written.has(session.id));
    const [known, opened] = [others.filter(isKnown), others.filter((other) => !isKnown(other))];
    await write(updateSession, known, toUpdateValues(changing));
    await write(insertSession, opened, (row) => all.map((name) => row[name]));
    const done = writes.filter(({ session }) => written.has(session.id));
    const formValues = toForms(cipher, done).map((form) => [
      form.phone,
      form.resume,
      form.resume_at,
      form.first_session,
    ]);
    await runForEach(trx, writeForm, formValues);
    await forgetNotices(trx, cipher, toShown(writes, written));
    return writes.map(({ session }) => written.has(session.id));
  };
}

const toUpdateValues = (columns: Columns) => (row: SessionTable) => [
  ...columns.map((name) => row[name]),
  row.id,
  row.version - 1,
];

/** Its row was read before. One that is gone since was removed, so it is not written again. */
const isKnown = ({ session }: SessionWrite) => session.version > 1;
