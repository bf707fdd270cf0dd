import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, createTestDatabase, type Engine, engines } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test, vi } from 'vitest';
import { openStore } from '../index.ts';
import {
  type AuditHead,
  auditMigrations,
  createAuditLog,
  keepAuditHead,
  loadAnchor,
  verifyAudit,
} from '../internal.ts';

interface TestDb {
  thing: { id: string };
}

const referenceKey = Buffer.alloc(32, 7);

async function openAudit(engine: Engine) {
  const database = await createTestDatabase(engine);
  const open = async () => {
    const store = await openStore<TestDb>(database.url);
    await store.migrate('audit', auditMigrations);
    const heads: AuditHead[] = [];
    const audit = createAuditLog(store, { service: 'test', referenceKey, onHead: (head) => heads.push(head) });
    return { store, audit, heads, verify: (anchors?: AuditHead[]) => verifyAudit(store as never, anchors) };
  };
  const first = await open();
  return {
    ...first,
    open,
    async [Symbol.asyncDispose]() {
      await first.audit.close();
      await first.store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

type Audit = Awaited<ReturnType<typeof openAudit>>;

async function fill({ store, audit }: Pick<Audit, 'store' | 'audit'>, count: number): Promise<void> {
  await store.transaction(async (trx) => {
    for (let index = 0; index < count; index++) {
      const subject = `/path/${index}`;
      await audit.record({ actor: 'operator:ann', action: 'operator.read', subject, from: '10.0.0.1' }, trx);
    }
  });
  await audit.list({ limit: 1 });
}

/** What someone does who owns the tables: the guards are dropped first. */
async function tamper({ store }: Pick<Audit, 'store'>, ...statements: string[]): Promise<void> {
  const guards =
    store.engine === 'postgres'
      ? ['drop trigger palaver_audit_change on palaver_audit']
      : ['drop trigger palaver_audit_update', 'drop trigger palaver_audit_delete'];
  for (const statement of [...guards, ...statements]) await sql.raw(statement).execute(store.db);
}

describe.each(engines)('audit log on %s', (engine) => {
  test('keeps who, what, when and from where, newest first, by filter and by page', async () => {
    await using log = await openAudit(engine);
    const { audit } = log;
    const ana = audit.person('+254700000001');
    await audit.record({ actor: ana, action: 'login.succeeded', subject: ana, from: 'ussd *1234#' });
    await audit.record({ actor: 'operator:ann', action: 'address.changed', subject: ana, details: { to: 'ixo1…x' } });
    await fill(log, 5);
    const { lines, nextCursor } = await audit.list({ limit: 3 });
    expect(lines.map(({ seq }) => seq)).toEqual([7, 6, 5]);
    expect((await audit.list({ limit: 10, before: nextCursor ?? '' })).lines.map(({ seq }) => seq)).toEqual([
      4, 3, 2, 1,
    ]);
    const [changed] = (await audit.list({ limit: 10, action: 'address.changed' })).lines;
    expect(changed).toMatchObject({ actor: 'operator:ann', subject: ana, from: null, details: { to: 'ixo1…x' } });
    expect((await audit.list({ limit: 10, subject: ana })).lines).toHaveLength(2);
    expect((await audit.list({ limit: 10, since: new Date(Date.now() + 60_000).toISOString() })).lines).toEqual([]);
    expect(JSON.stringify(lines)).not.toContain('254700000001');
    expect(await log.verify()).toMatchObject({ lines: 7, faults: [] });
  });

  test('a line is committed or rolled back with the transaction of its event', async () => {
    await using log = await openAudit(engine);
    const event = { actor: 'service', action: 'keys.rotated' } as const;
    const failed = log.store.transaction(async (trx) => {
      await log.audit.record(event, trx);
      throw new Error('undone');
    });
    await expect(failed).rejects.toThrow('undone');
    await log.store.transaction((trx) => log.audit.record(event, trx));
    expect((await log.audit.list({ limit: 10 })).lines).toHaveLength(1);
  });

  test('several instances that write at once make one chain without a gap', async () => {
    await using log = await openAudit(engine);
    const others = await Promise.all([log.open(), log.open()]);
    await Promise.all(
      [log, ...others].map(async ({ audit }, instance) => {
        for (let index = 0; index < 60; index++) {
          await audit.record({ actor: 'service', action: 'report.filed', details: { instance, index } });
          if (index % 20 === 0) await audit.list({ limit: 1 });
        }
      }),
    );
    for (const other of others) {
      await other.audit.close();
      await other.store.close();
    }
    expect(await log.verify()).toMatchObject({ lines: 180, faults: [] });
  });

  test('what a killed instance left pending is chained by the next reader', async () => {
    await using log = await openAudit(engine);
    const other = await log.open();
    await other.audit.record({ actor: 'service', action: 'keys.rotated' });
    await other.store.close();
    expect(await log.verify()).toMatchObject({ lines: 1, faults: [] });
  });

  test('statements that change or remove lines are refused', async () => {
    await using log = await openAudit(engine);
    await fill(log, 2);
    for (const statement of ["update palaver_audit set actor = 'x'", 'delete from palaver_audit where seq = 1']) {
      await expect(sql.raw(statement).execute(log.store.db)).rejects.toThrow('append-only');
    }
  });

  test.each([
    ['changed', ["update palaver_audit set subject = '/other' where seq = 3"], [{ seq: 3, fault: 'it was changed' }]],
    ['removed', ['delete from palaver_audit where seq = 3'], [{ seq: 4, fault: '1 lines before it are missing' }]],
    [
      'reordered',
      [
        'update palaver_audit set seq = 99 where seq = 3',
        'update palaver_audit set seq = 3 where seq = 4',
        'update palaver_audit set seq = 4 where seq = 99',
      ],
      expect.arrayContaining([{ seq: 3, fault: 'it was changed' }]),
    ],
    [
      'removed at the end',
      ['delete from palaver_audit where seq > 8'],
      [{ seq: 8, fault: 'the chain ends here, but its head is recorded at 10' }],
    ],
    [
      'removed at the beginning',
      ['delete from palaver_audit where seq <= 2'],
      [{ seq: 3, fault: '2 lines before it are missing' }],
    ],
    [
      'removed at the beginning with a moved floor',
      [
        'update palaver_audit_state set floor_seq = 2, floor_hash = (select hash from palaver_audit where seq = 2)',
        'delete from palaver_audit where seq <= 2',
      ],
      [{ seq: 3, fault: 'lines before it are missing and no line records their removal' }],
    ],
    [
      'added by hand',
      [
        "insert into palaver_audit select 11, at, service, 'service', action, subject, from_address, details, hash, hash from palaver_audit where seq = 10",
      ],
      expect.arrayContaining([{ seq: 11, fault: 'it was changed' }]),
    ],
  ])('a line that was %s is found', async (_, statements, faults) => {
    await using log = await openAudit(engine);
    await fill(log, 10);
    await tamper(log, ...statements);
    expect((await log.verify()).faults).toEqual(faults);
  });

  test('an end that was cut off or written again, with its recorded head, is found by a head kept elsewhere', async () => {
    await using log = await openAudit(engine);
    await fill(log, 10);
    const anchor = log.heads.at(-1) as AuditHead;
    expect(await log.verify([anchor])).toMatchObject({ faults: [], head: anchor });
    await tamper(
      log,
      'delete from palaver_audit where seq > 8',
      'update palaver_audit_state set head_seq = 8, head_hash = (select hash from palaver_audit where seq = 8)',
    );
    expect((await log.verify()).faults).toEqual([]);
    expect((await log.verify([anchor])).faults).toEqual([
      { seq: 8, fault: 'the chain ends here, but its head was at 10' },
    ]);
    await fill(log, 2);
    expect((await log.verify([anchor])).faults).toEqual([
      { seq: 10, fault: 'it differs from the head that was kept elsewhere' },
    ]);
  });

  test('old lines are pruned, which the chain itself records', async () => {
    await using log = await openAudit(engine);
    await fill(log, 1_200);
    const until = Date.now() + 1;
    await new Promise((resolve) => setTimeout(resolve, 5));
    await fill(log, 3);
    expect(await log.audit.prune(until)).toBe(1_200);
    const verdict = await log.verify(log.heads.slice(-1));
    expect(verdict.faults).toEqual([]);
    expect(verdict.head.seq).toBe(1_205);
    expect((await log.audit.list({ limit: 1, action: 'audit.pruned' })).lines[0]?.details.seq).toBe(1_200);
    expect(await log.audit.prune(until)).toBe(0);
  });

  test('lines beyond their days are removed', async () => {
    await using log = await openAudit(engine);
    await fill(log, 3);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
    try {
      const keeper = createAuditLog(log.store, { service: 'test', referenceKey, retentionDays: 30 });
      vi.advanceTimersByTime(29 * 86_400_000);
      await keeper.record({ actor: 'service', action: 'keys.rotated' });
      vi.advanceTimersByTime(2 * 86_400_000);
      // A pruning that began on one of the days before may still be running; then the hour's own is left out.
      for (let hour = 0; hour < 200 && (await keeper.list({ limit: 10 })).lines.length !== 2; hour += 1) {
        vi.advanceTimersByTime(3_600_000);
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      await keeper.close();
    } finally {
      vi.useRealTimers();
    }
    const { lines } = await log.audit.list({ limit: 10 });
    expect(lines.map(({ action }) => action)).toEqual(['audit.pruned', 'keys.rotated']);
    expect((await log.verify()).faults).toEqual([]);
  });

  test('any text that can be written verifies when read back', async () => {
    await using log = await openAudit(engine);
    await log.audit.record({
      actor: 'operator:a\0\ud800"',
      action: 'operator.read',
      subject: `${'é'.repeat(300)}`,
      from: '😀\n',
      details: { odd: '\0\udfff', number: 0.1, no: null },
    });
    expect((await log.verify()).faults).toEqual([]);
  });
});

test('the anchor file moves forward only and is readable by its owner alone', async () => {
  await using dir = await createTempDir();
  const path = join(dir.path, 'new', 'audit-head.json');
  expect(loadAnchor(path)).toBeUndefined();
  const logged: unknown[] = [];
  const log = (fields: object, message: string) => logged.push([message, fields]);
  const { onHead } = keepAuditHead(path, { info: log, warn: log });
  onHead?.({ seq: 5, hash: 'five' });
  onHead?.({ seq: 4, hash: 'four' });
  expect(loadAnchor(path)).toEqual({ seq: 5, hash: 'five' });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(logged).toEqual([['audit head', { auditHead: { seq: 5, hash: 'five' } }]]);
});

test('a head that cannot be written to a file is warned about once', async () => {
  await using dir = await createTempDir();
  const warnings: string[] = [];
  writeFileSync(join(dir.path, 'file'), '');
  const { onHead } = keepAuditHead(join(dir.path, 'file', 'head.json'), {
    info() {},
    warn: (_, message) => warnings.push(message),
  });
  onHead?.({ seq: 1, hash: 'one' });
  onHead?.({ seq: 2, hash: 'two' });
  expect(warnings).toEqual(['the head of the audit log cannot be kept in a file']);
});
