import { openStore } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { register, startService } from './service-fixture.ts';

const ages = [1, 30, 60];

describe.concurrent.each(engines)('on %s', (engine) => {
  test('a running service removes rows that are past their retention period, and keeps the others', async () => {
    await using service = await startService(engine, {
      SESSION_TIMEOUT_SECONDS: '1800',
      RETENTION_USSD_HOURS: '48',
      RETENTION_SUBMISSIONS_DAYS: '2',
      RETENTION_SMS_DAYS: '2',
      RETENTION_RECORDS_DAYS: '2',
      RETENTION_STATS_DAYS: '2',
      RETENTION_CLAIMS_DAYS: '2',
    });
    const store = await openStore<UssdTables>(service.databaseUrl);
    const threeDaysAgo = Date.now() - 3 * 86_400_000;
    await sql`insert into palaver_audit_pending (id, at, service, actor, action, subject, from_address, details)
      values ('old', ${sql.lit(threeDaysAgo)}, 'ussd', 'service', 'keys.rotated', null, null, '{}')`.execute(store.db);
    const fourMonthsAgo = Date.now() - 120 * 86_400_000;
    for (const [phone, language, resume_at] of [
      ['silent', null, fourMonthsAgo],
      ['silent-new', null, Date.now()],
      ['speaks', 'fr', fourMonthsAgo],
    ] as const)
      await store.db
        .insertInto('ussd_profile')
        .values({ phone, language, resume: null, resume_at, notice: null })
        .execute();
    for (const days of [2, 3]) {
      const day = Math.floor(Date.now() / 86_400_000) - days;
      await store.db
        .insertInto('ussd_call_stat')
        .values({ day, program: 'p', version: `p@${days}`, calls: 1, returning_calls: 0, text_calls: 0 })
        .execute();
    }
    for (const [id, status, checked_at] of [
      ['paid-old', 'paid', threeDaysAgo],
      ['paid-new', 'paid', Date.now()],
      ['rejected-old', 'rejected', threeDaysAgo],
      ['submitted-old', 'submitted', threeDaysAgo],
      ['failed-old', 'failed', threeDaysAgo],
    ] as const)
      await store.db
        .insertInto('ussd_claim')
        .values({
          id,
          source: id,
          phone: id,
          collection: '1',
          content: '{}',
          status,
          reward: null,
          fault: null,
          checked_at,
          created_at: threeDaysAgo,
        })
        .execute();
    for (const status of ['included', 'dead', 'waiting'] as const)
      await sql`insert into ussd_tx (id, message, memo, status, alone, attempts, next_at, created_at)
        values (${status}, '{}', '', ${status}, 0, 0, 0, ${sql.lit(threeDaysAgo)})`.execute(store.db);
    for (const hours of ages) {
      const at = Date.now() - hours * 3_600_000;
      const id = `hours-${hours}`;
      expect(await service.say(id, '1', { phoneNumber: `+25470000${1_000 + hours}` })).toMatch(/^CON/);
      await store.db.updateTable('ussd_session').set({ opened_at: at, seen_at: at }).where('id', '=', id).execute();
      await store.db
        .insertInto('ussd_input')
        .values({ session_id: id, phone: '', version: 1, sealed: '', kept_until: at + 180_000 })
        .execute();
      await store.db
        .insertInto('ussd_action_result')
        .values({ key: id, phone: '+1', result: '{}', created_at: at })
        .execute();
      const question = {
        phone: id,
        question: 'why',
        status: 'answered',
        answer: 'so',
        asked_at: at,
        shown: 0,
      } as const;
      await store.db
        .insertInto('ussd_question')
        .values({ id, ...question })
        .execute();
      const form = {
        program: 'p',
        form_id: 'f',
        form_version: '1',
        phone: id,
        xml: '<data/>',
        answers: '{}',
        fault: null,
      };
      const record = { program: 'p', kind: 'k', phone: id, fields: '{}', created_at: at };
      await store.db
        .insertInto('ussd_record')
        .values({ id, ...record })
        .execute();
      const outbox = { created_at: at, attempts: 1, next_at: null, fault: null, lease_until: 0 };
      for (const status of ['sent', 'queued'] as const)
        await store.db
          .insertInto('ussd_sms')
          .values({ id: `${id}-${status}`, program: 'p', phone: id, caller: id, body: '', status, ...outbox })
          .execute();
      for (const status of ['sent', 'queued'] as const)
        await store.db
          .insertInto('ussd_submission')
          .values({ id: `${id}-${status}`, ...form, ...outbox, status })
          .execute();
    }
    const newest = { sessionID: 'young', userID: 'test', newSession: true, msisdn: '254700000009', userData: '*1234#' };
    await fetch(`${service.url}/api/ussd/arkesel`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(newest),
    });
    const load = async () => {
      const sessions = await store.db
        .selectFrom('ussd_session')
        .select('id')
        .where('id', 'like', 'hours-%')
        .orderBy('opened_at', 'desc')
        .execute();
      const effects = await store.db
        .selectFrom('ussd_action_result')
        .select('key as id')
        .where('key', 'like', 'hours-%')
        .orderBy('created_at', 'desc')
        .execute();
      const questions = await store.db.selectFrom('ussd_question').select('id').orderBy('asked_at', 'desc').execute();
      return [sessions, effects, questions].map((rows) => rows.map(({ id }) => id).join());
    };
    const keeps = async (...ids: string[]) => {
      // The statements of a sweep follow each other; questions are the last of the three.
      await waitFor('a sweep', async () => (await load())[2] === ids.join());
      expect(await load()).toEqual([ids.join(), ids.join(), ids.join()]);
    };
    await keeps('hours-1', 'hours-30');
    // What still waits for a server is never removed.
    const wanted = 'hours-1-queued,hours-1-sent,hours-30-queued,hours-30-sent,hours-60-queued';
    const idsOf = async (table: 'ussd_submission' | 'ussd_sms' | 'ussd_record') =>
      (await store.db.selectFrom(table).select('id').orderBy('id').execute()).map(({ id }) => id).join();
    await waitFor('the submissions', async () => (await idsOf('ussd_submission')) === wanted);
    await waitFor('the messages', async () => (await idsOf('ussd_sms')) === wanted);
    await waitFor('the counts of programs', async () => {
      const rows = await store.db.selectFrom('ussd_call_stat').select('program').orderBy('program').execute();
      return rows.map(({ program }) => program).join() === 'p,palaver';
    });
    await waitFor('the records', async () => (await idsOf('ussd_record')) === 'hours-1,hours-30');
    // Claims that are decided and transactions that are included are removed; what failed or is on its way stays.
    await waitFor('the claims', async () => {
      const claims = await store.db.selectFrom('ussd_claim').select('id').orderBy('id').execute();
      const { rows } = await sql<{ id: string }>`select id from ussd_tx order by id`.execute(store.db);
      const left = [...claims, ...rows].map(({ id }) => id).join();
      return left === 'failed-old,paid-new,submitted-old,dead,waiting';
    });
    // Inputs are kept as long as a session lives.
    await waitFor('the inputs', async () => {
      const rows = await store.db.selectFrom('ussd_input').select('session_id as id').execute();
      return rows.map(({ id }) => id).join() === 'young';
    });
    // A number that has chosen nothing is forgotten after 90 days.
    const profiles = store.db.selectFrom('ussd_profile').select('phone').where('phone', 'like', 's%').orderBy('phone');
    await waitFor('the profiles', async () => (await profiles.execute()).length === 2);
    expect((await profiles.execute()).map(({ phone }) => phone)).toEqual(['silent-new', 'speaks']);
    for (const index of [1, 2]) await register(service, `r${index}`, { phoneNumber: `+25470000000${index}` });
    await service.close();
    const loadAudit = async () => {
      const { rows } = await sql<{ seq: number }>`select seq from palaver_audit order by seq`.execute(store.db);
      return rows.map(({ seq }) => Number(seq));
    };
    const lines = await loadAudit();
    await using _shorter = await service.startAnother({ RETENTION_USSD_HOURS: '24', RETENTION_AUDIT_DAYS: '2' });
    await keeps('hours-1');
    await waitFor('the audit log', async () => (await loadAudit())[0] !== lines[0]);
    expect((await loadAudit()).slice(0, lines.length - 1)).toEqual(lines.slice(1));
    await store.close();
  });
});
