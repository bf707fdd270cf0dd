import type { AuditLine } from '@palaver/contract/internal';
import { openStore } from '@palaver/store';
import { type AuditTables, verifyAudit } from '@palaver/store/internal';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { phoneNumber, register, startService, type TestService } from './service-fixture.ts';

const address = `ixo1${'q'.repeat(38)}`;

async function readAudit(service: TestService, query = ''): Promise<AuditLine[]> {
  const response = await service.get(`/api/ussd/audit?${query}`);
  expect(response.status).toBe(200);
  return ((await response.json()) as { lines: AuditLine[] }).lines.toReversed();
}

const actionsOf = (lines: AuditLine[]) => lines.map(({ action }) => action);

describe.each(engines)('audit on %s', (engine) => {
  test('registrations, logins, refusals, lockouts, reports and PIN changes leave a line each', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    await service.say('in', '2*2*4071');
    await service.say('report', '3*1*5*4071');
    await service.say('pin', '2*5*4071*5083*5083');
    for (const i of [1, 2, 3]) await service.say(`wrong${i}`, '2*2*9999');
    const lines = (await readAudit(service)).filter(({ from }) => from === 'ussd');
    expect(actionsOf(lines)).toEqual(
      expect.arrayContaining([
        'account.registered',
        'login.succeeded',
        'report.filed',
        'login.refused',
        'login.locked',
      ]),
    );
    expect(lines.find(({ action }) => action === 'report.filed')?.details.reference).toMatch(/^[2-9A-Z]{9}$/);
    expect(new Set(lines.map(({ subject }) => subject)).size).toBe(1);
    // Hashes and ids may hold any four digits.
    const text = JSON.stringify(lines).replace(/[\da-f-]{16,}/g, '');
    for (const secret of ['4071', '5083', '9999', '254700000001', 'Ana']) expect(text).not.toContain(secret);
  });

  test('a claim that an operator submits again leaves a line', async () => {
    const claiming = { GATEWAY_URL: 'http://127.0.0.1:1', CLAIMS_COLLECTION: '1', CLAIMS_INTERVAL_SECONDS: '0' };
    await using service = await startService(engine, claiming);
    expect((await fetch(`${service.url}/api/ussd/claims/none/retry`, { method: 'POST' })).status).toBe(404);
    expect(await readAudit(service, 'action=operator.write')).toMatchObject([
      { subject: 'none', details: { route: '/api/ussd/claims/:id/retry' } },
    ]);
  });

  test('a read that left no line because of the database is refused, and leaves one when it is repeated', async () => {
    await using service = await startService(engine);
    const store = await openStore<AuditTables>(service.databaseUrl);
    const rename = (from: string, to: string) =>
      store.db.schema.alterTable(`palaver_audit_${from}`).renameTo(`palaver_audit_${to}`).execute();
    const read = async () => (await service.get('/api/ussd/sessions')).status;
    await rename('pending', 'away');
    expect(await read()).toBeGreaterThanOrEqual(500);
    await rename('away', 'pending');
    for (let i = 0; i < 3; i++) expect(await read()).toBe(200);
    await store.close();
    expect(await readAudit(service, 'action=operator.read')).toMatchObject([
      { details: { route: '/api/ussd/sessions' } },
      { details: { route: '/api/ussd/audit' } },
    ]);
  });

  test('every file that is exported leaves a line of its own, and so does every other read', async () => {
    await using service = await startService(engine);
    const files = [
      'reports?format=csv',
      'reports?format=spreadsheet',
      'submissions?format=xml',
      'records/p/k?format=csv',
    ];
    for (const path of ['reports', 'reports', 'reports?offset=1', 'submissions', ...files, ...files])
      await (await service.get(`/api/ussd/${path}`)).text();
    await (await service.get('/api/ussd/reports', { accept: 'text/csv' })).text();
    const exported = await readAudit(service, 'action=results.exported');
    expect(exported.map(({ details }) => details)).toEqual([
      ...Array.from({ length: 2 }, () => [
        { route: '/api/ussd/reports', format: 'csv' },
        { route: '/api/ussd/reports', format: 'spreadsheet' },
        { route: '/api/ussd/submissions', format: 'xml' },
        { route: '/api/ussd/records/:program/:kind', format: 'csv' },
      ]).flat(),
      { route: '/api/ussd/reports', format: 'csv' },
    ]);
    const reads = await readAudit(service, 'action=operator.read');
    expect(reads.map(({ details }) => details.route)).toEqual([
      ...['/api/ussd/reports', '/api/ussd/reports', '/api/ussd/submissions', '/api/ussd/audit', '/api/ussd/audit'],
    ]);
  });

  test('a retry of a report leaves no second line', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    for (let i = 0; i < 3; i++) await service.say('report', '3*1*5*4071');
    expect(await readAudit(service, 'action=report.filed')).toHaveLength(1);
  });

  test('operators leave a line for what they read and change, found by phone number, in JSON and in CSV', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    for (let i = 0; i < 3; i++) await service.get('/api/ussd/sessions');
    const put = (phone: string) =>
      fetch(`${service.url}/api/ussd/accounts/${encodeURIComponent(phone)}/address`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ address }),
      });
    expect((await put(phoneNumber)).status).toBe(200);
    expect((await put('+254799999999')).status).toBe(404);
    const reads = await readAudit(service, 'action=operator.read');
    expect(reads.filter(({ details }) => details.route === '/api/ussd/sessions')).toEqual([
      expect.objectContaining({ actor: 'operator:loopback', from: '127.0.0.1' }),
    ]);
    const changes = await readAudit(service, 'action=address.changed');
    expect(changes).toEqual([
      expect.objectContaining({ actor: 'operator:loopback', details: { from: null, to: 'ixo1qq…qqqqqq' } }),
    ]);
    const own = await readAudit(service, `subject=${encodeURIComponent(phoneNumber)}`);
    expect(actionsOf(own)).toEqual(['account.registered', 'address.changed']);
    // Whoever tries numbers leaves lines as well.
    const tried = '+254799999999';
    const unlock = `${service.url}/api/ussd/accounts/${encodeURIComponent(tried)}/unlock`;
    expect((await fetch(unlock, { method: 'POST' })).status).toBe(404);
    const tries = await readAudit(service, 'action=operator.write');
    expect(tries.map(({ subject, details }) => [subject, details.route])).toEqual([
      ['+25479999****', '/api/ussd/accounts/:phoneNumber/address'],
      ['+25479999****', '/api/ussd/accounts/:phoneNumber/unlock'],
    ]);
    const csv = await service.get('/api/ussd/audit?format=csv&action=address.changed');
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect((await csv.text()).split('\r\n')[1]).toContain('operator:loopback,address.changed,person:');
    for (const query of ['action=none', 'limit=0', 'before=x', 'since=yesterday']) {
      expect((await service.get(`/api/ussd/audit?${query}`)).status).toBe(400);
    }
    expect((await service.get('/api/ussd/audit', { 'x-forwarded-for': '1.2.3.4' })).status).toBe(401);
  });

  test('what the service wrote verifies after it has stopped', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    await service.close();
    const store = await openStore<AuditTables>(service.databaseUrl);
    expect(await verifyAudit(store)).toMatchObject({ lines: 1, faults: [] });
    await store.close();
  });
});
