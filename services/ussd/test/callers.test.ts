// Operators help one caller: the number stays masked until it is asked for, and every step is in the audit.
import type { AuditLine, CallerOverview } from '@palaver/contract/internal';
import { addOperator } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createTempDir, engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { phoneNumber, register, startService, type TestService } from './service-fixture.ts';

type View = CallerOverview & { caller: string; maskedNumber: string };

async function send<Answer>(service: TestService, path: string, body: object, headers = {}) {
  const response = await fetch(`${service.url}/api/ussd${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Answer };
}

describe.each(engines)('on %s', (engine) => {
  test('a caller is found by number or from a list, shown masked, revealed, unlocked and given a new PIN', async () => {
    await using service = await startService(engine, { DATA_ENCRYPTION_KEY: 'ef'.repeat(32) });
    await register(service, 'r');
    await service.say('s2', '', { phoneNumber: '+254700000002' });
    const store = await openStore<UssdTables>(service.databaseUrl);
    await store.db.updateTable('ussd_account').set({ failed_total: 100 }).execute();
    await store.close();

    const { callers } = (await (await service.get('/api/ussd/callers')).json()) as { callers: View[] };
    expect(callers.map(({ maskedNumber }) => maskedNumber)).toEqual(['+25470000****', '+25470000****']);
    expect(JSON.stringify(callers)).not.toContain(phoneNumber);
    const found = await send<View>(service, '/callers/find', { caller: callers[1]?.caller });
    expect(found).toMatchObject({
      status: 200,
      body: {
        maskedNumber: '+25470000****',
        account: { name: 'Ana', lock: 'until unlocked', failedPins: 100, address: null, hasWallet: false },
        sessions: [{ id: 'r', status: 'active', program: expect.stringMatching(/^palaver@/) }],
        results: [],
      },
    });
    expect(JSON.stringify(found.body)).not.toContain(phoneNumber);
    expect(await send(service, '/callers/reveal', { caller: found.body.caller })).toEqual({
      status: 200,
      body: { phoneNumber },
    });

    const reset = await send<{ pin: string }>(service, `/accounts/${encodeURIComponent(phoneNumber)}/reset-pin`, {});
    expect(reset).toMatchObject({ status: 200, body: { phoneNumber, pin: expect.stringMatching(/^\d{6}$/) } });
    expect(await service.say('n', '')).toContain('Your PIN was changed');
    expect(await service.say('old', '2*2*4071')).toContain('Tries left');
    expect(await service.say('new', `2*2*${reset.body.pin}`)).toContain('Welcome back');
    expect(await send<View>(service, '/callers/find', { phoneNumber })).toMatchObject({
      body: { account: { lock: 'none', failedPins: 1 } },
    });

    const audit = (await (await service.get(`/api/ussd/audit?subject=${encodeURIComponent(phoneNumber)}`)).json()) as {
      lines: AuditLine[];
    };
    const actions = audit.lines.map(({ action }) => action);
    for (const action of ['caller.viewed', 'caller.revealed', 'pin.reset']) expect(actions).toContain(action);
    const whole = JSON.stringify(audit);
    expect(whole).not.toContain(phoneNumber);
    expect(whole).not.toContain(`"${reset.body.pin}"`);
    expect((await send(service, '/callers/find', { phoneNumber: '+254799999999' })).status).toBe(404);
    expect((await send(service, '/callers/reveal', { caller: 'v1.a.b.c' })).status).toBe(400);
    expect((await send(service, '/callers/find', {})).status).toBe(400);
    expect((await send(service, '/accounts/+254799999999/reset-pin', {})).status).toBe(404);
  });
});

test('viewers see the masked list, operators one caller, admins reset a PIN', async () => {
  await using dir = await createTempDir();
  const file = `${dir.path}/operators.json`;
  const [viewer, operator, admin] = (['viewer', 'operator', 'admin'] as const).map((role) => ({
    authorization: `Bearer ${addOperator(file, { name: role, role })}`,
  }));
  await using service = await startService('sqlite', { OPERATORS_FILE: file });
  await register(service, 'r');
  expect((await service.get('/api/ussd/callers', viewer)).status).toBe(200);
  const reset = `/accounts/${encodeURIComponent(phoneNumber)}/reset-pin`;
  const statuses = async (path: string, body: object) =>
    Promise.all([viewer, operator, admin].map(async (headers) => (await send(service, path, body, headers)).status));
  expect(await statuses('/callers/find', { phoneNumber })).toEqual([403, 200, 200]);
  expect(await statuses('/callers/reveal', { caller: '' })).toEqual([403, 400, 400]);
  expect(await statuses(reset, {})).toEqual([403, 403, 200]);
});
