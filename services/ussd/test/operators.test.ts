import { askStatus, foreignHeaders } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { phoneNumber, register, serviceCode, startService } from './service-fixture.ts';

describe('operators', () => {
  const paths = ['/api/ussd/sessions', '/api/ussd/debug/s', '/api/ussd/reports', '/metrics'];

  test('need the token where one is set', async () => {
    await using service = await startService('sqlite', { OPERATOR_TOKEN: 'op-token' });
    await service.say('s', '');
    for (const path of paths) {
      expect((await service.get(path)).status).toBe(401);
      expect((await service.get(path, { authorization: 'Bearer wrong' })).status).toBe(401);
      expect((await service.get(path, { authorization: 'Bearer op-token' })).status).toBe(200);
    }
  });

  test('without a token only direct connections from this machine are let in', async () => {
    await using service = await startService();
    await service.say('s', '');
    for (const path of paths) {
      expect((await service.get(path)).status).toBe(200);
      for (const headers of foreignHeaders)
        expect([headers, await askStatus(service.url + path, headers)]).toEqual([
          headers,
          expect.toBeOneOf([401, 403, 421]),
        ]);
      const refused = await service.get(path, { via: '1.1 proxy' });
      expect([refused.status, await refused.json()]).toEqual([401, expect.objectContaining({ code: 'UNAUTHORIZED' })]);
    }
  });

  test('see the state of a session, and 404 for one that is not active', async () => {
    await using service = await startService();
    await service.say('s1', '');
    const body = await (await service.get('/api/ussd/debug/s1')).json();
    expect(body).toEqual({
      sessionId: 's1',
      debugInfo: {
        state: 'preMenu',
        status: 'active',
        context: {
          sessionId: 's1',
          phoneNumber,
          serviceCode,
          message: expect.stringMatching(/^Welcome to Palaver\n1\. /),
          isAuthenticated: false,
          asksSecret: false,
          language: 'en',
          startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          lastSeenAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        },
      },
      activeSessions: ['s1'],
    });
    await service.say('s1', '*');
    for (const id of ['s1', 'never', '', '%00', 'a'.repeat(500)]) {
      const missing = await service.get(`/api/ussd/debug/${id}`);
      expect([missing.status, await missing.json()]).toEqual([
        404,
        expect.objectContaining({ statusCode: 404, code: 'SESSION_NOT_FOUND' }),
      ]);
    }
  });

  test('list and export reports', async () => {
    await using service = await startService();
    await register(service, 'r');
    for (const i of [1, 2, 3]) await service.say(`s${i}`, `3*${i}*${i}0,5*4071`);
    const page = (await (await service.get('/api/ussd/reports?limit=2&offset=1')).json()) as {
      reports: { type: string }[];
    };
    expect(page).toMatchObject({ total: 3, limit: 2, offset: 1 });
    expect(page.reports.map(({ type }) => type)).toEqual(['cooking', 'trees']);
    const csvRequests: [string, Record<string, string>][] = [
      ['/api/ussd/reports?format=csv', {}],
      ['/api/ussd/reports', { accept: 'text/csv' }],
    ];
    for (const [path, headers] of csvRequests) {
      const csv = await service.get(path, headers);
      expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
      const lines = (await csv.text()).split('\r\n');
      expect(lines[0]).toBe('reference,phoneNumber,type,amount,createdAt,unit,place,date,note');
      expect(lines[1]).toMatch(/^[2-9A-Z]{9},\+254700000001,solar,30\.5,\d{4}-[^,]+,kWh,,,$/);
      expect(lines).toHaveLength(5);
    }
    expect((await service.get('/api/ussd/reports?limit=0')).status).toBe(400);
  });

  test('metrics count requests by outcome, active sessions, turns and failed actions', async () => {
    await using service = await startService();
    await service.say('a', '');
    await service.say('a', '1');
    await service.say('b', '*');
    await service.post({});
    const text = await (await service.get('/metrics')).text();
    for (const line of [
      'ussd_requests_total{outcome="opened",service="ussd"} 1',
      'ussd_requests_total{outcome="continued",service="ussd"} 1',
      'ussd_requests_total{outcome="ended",service="ussd"} 1',
      'ussd_requests_total{outcome="invalid",service="ussd"} 1',
      'ussd_active_sessions{service="ussd"} 1',
      'ussd_request_duration_seconds_count{service="ussd"} 3',
      '# TYPE ussd_action_failures_total counter',
      'database_queries_waiting{service="ussd"} 0',
      'database_slow_statements_total{service="ussd"} 0',
    ]) {
      expect(text).toContain(line);
    }
    expect(text).not.toContain('254700000001');
  });
});
