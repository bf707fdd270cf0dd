import { join } from 'node:path';
import { addOperator } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createTempDir } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { phoneNumber, register, startService, type TestService } from './service-fixture.ts';

const address = `ixo1${'q'.repeat(38)}`;

async function call(service: TestService, token: string, method: string, path: string, body?: object) {
  const reply = await fetch(`${service.url}/api/ussd${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: replies of several routes
  return { status: reply.status, body: (await reply.json()) as any };
}

describe.each(['sqlite', 'postgres'] as const)('with FOUR_EYES on %s', (engine) => {
  test('a proposal that nobody approves within a day is gone', async () => {
    await using dir = await createTempDir();
    const file = join(dir.path, 'operators.json');
    const [ann, ben] = [
      addOperator(file, { name: 'ann', role: 'admin' }),
      addOperator(file, { name: 'ben', role: 'admin' }),
    ];
    await using service = await startService(engine, { FOUR_EYES: 'true', OPERATORS_FILE: file });
    await register(service, 's1');
    const proposed = await call(service, ann, 'PUT', `/accounts/${phoneNumber}/address`, { address });
    const { id, expiresAt } = proposed.body.pending;
    expect(Math.round((Date.parse(expiresAt) - Date.now()) / 3_600_000)).toBe(24);
    const store = await openStore<UssdTables>(service.databaseUrl);
    await store.db
      .updateTable('ussd_address_change')
      .set({ expires_at: Date.now() - 1 })
      .execute();
    await store.close();
    expect((await call(service, ben, 'GET', '/address-changes')).body.changes).toEqual([]);
    expect((await call(service, ben, 'POST', `/address-changes/${id}/approve`)).status).toBe(404);
    expect((await call(service, ben, 'DELETE', `/address-changes/${id}`)).status).toBe(404);
  });

  test('a payout address changes once another admin has approved it', async () => {
    await using dir = await createTempDir();
    const file = join(dir.path, 'operators.json');
    const [ann, ben, cai] = [
      addOperator(file, { name: 'ann', role: 'admin' }),
      addOperator(file, { name: 'ben', role: 'admin' }),
      addOperator(file, { name: 'cai', role: 'operator' }),
    ];
    await using service = await startService(engine, { FOUR_EYES: 'true', OPERATORS_FILE: file });
    await register(service, 's1');
    const put = (token: string) => call(service, token, 'PUT', `/accounts/${phoneNumber}/address`, { address });
    expect((await put(cai)).status).toBe(403);
    const proposed = await put(ann);
    expect([proposed.status, proposed.body]).toEqual([
      202,
      { pending: expect.objectContaining({ phoneNumber, address, proposedBy: 'ann' }) },
    ]);
    const { id } = proposed.body.pending;
    const listed = await call(service, ben, 'GET', '/address-changes');
    expect(listed.body.changes).toEqual([proposed.body.pending]);
    const approve = (token: string) => call(service, token, 'POST', `/address-changes/${id}/approve`);
    expect((await approve(ann)).status).toBe(403);
    expect((await approve(cai)).status).toBe(403);
    const both = await Promise.all([approve(ben), approve(ben)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 404]);
    expect((await approve(ben)).status).toBe(404);

    const again = await put(ben);
    expect((await call(service, ann, 'DELETE', `/address-changes/${again.body.pending.id}`)).status).toBe(200);
    expect((await call(service, ann, 'GET', '/address-changes')).body.changes).toEqual([]);

    const { lines } = (await call(service, ann, 'GET', '/audit?limit=100')).body;
    const changes = lines.filter(({ action }: { action: string }) => action.startsWith('address.')).reverse();
    expect(changes.map(({ action, actor }: { action: string; actor: string }) => [action, actor])).toEqual([
      ['address.proposed', 'operator:ann'],
      ['address.changed', 'operator:ben'],
      ['address.proposed', 'operator:ben'],
    ]);
  });

  test('a token that names nobody is no second pair of eyes, nor the first', async () => {
    await using dir = await createTempDir();
    const file = join(dir.path, 'operators.json');
    const ann = addOperator(file, { name: 'ann', role: 'admin' });
    const shared = 'the-shared-token';
    const env = { FOUR_EYES: 'true', OPERATORS_FILE: file, OPERATOR_TOKEN: shared };
    await using service = await startService(engine, env);
    await register(service, 's1');
    const put = (token: string) => call(service, token, 'PUT', `/accounts/${phoneNumber}/address`, { address });
    expect(await put(shared)).toMatchObject({ status: 403, body: { message: expect.stringContaining('named') } });
    const proposed = await put(ann);
    expect((await call(service, shared, 'POST', `/address-changes/${proposed.body.pending.id}/approve`)).status).toBe(
      403,
    );
    expect((await call(service, ann, 'GET', '/address-changes')).body.changes).toHaveLength(1);
  });
});

test.each(['token', 'Token', 'loopback', 'unknown'])(
  'nobody is named %s, which the audit log says of others',
  async (name) => {
    await using dir = await createTempDir();
    const file = join(dir.path, 'operators.json');
    expect(() => addOperator(file, { name, role: 'admin' })).toThrow('another name');
  },
);

test('one name is one operator, in whatever letters', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'operators.json');
  addOperator(file, { name: 'ann', role: 'admin' });
  expect(() => addOperator(file, { name: 'Ann', role: 'admin' })).toThrow('already');
});
