// Sums over all records of a caller or of everyone, however many there are.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { createRecordStore } from '../src/records/records.ts';
import type { UssdTables } from '../src/store/tables.ts';
import { startService, type TestService } from './service-fixture.ts';

const savings = fileURLToPath(new URL('../../../examples/savings-group', import.meta.url));
const serviceCode = '*384*42#';
const phoneNumber = '+254700000001';

/** Deposits of 100 that were made before, one a minute. */
async function deposit(service: TestService, count: number, phone = phoneNumber): Promise<void> {
  const store = await openStore<UssdTables>(service.databaseUrl);
  const records = createRecordStore(store);
  const kind = { program: 'savings-group', kind: 'movement' };
  const fields = { amount: 100, kind: 'deposit', day: '2026-11-01' };
  await store.transaction(async (trx) => {
    for (let i = 0; i < count; i++)
      await records.insert(trx, { ...kind, id: randomUUID(), phone, fields, now: Date.now() - (count - i) * 60_000 });
  });
  await store.close();
}

describe.each(engines)('the savings example on %s', (engine) => {
  test.fails('the balance counts every movement, and the withdrawal check believes it', async () => {
    await using service = await startService(engine, { USSD_PROGRAMS: savings });
    await deposit(service, 207);
    await deposit(service, 1_000, '+254700000002');
    const say = (id: string, text: string) => service.say(id, text, { serviceCode });
    expect(await say('a', '3')).toMatch(/20700\b/);
    expect(await say('b', '4')).toMatch(/120700\b/);
    expect(await say('c', '2*1*Ana*4071*4071')).toMatch(/You have 20700\./);
    expect(await say('c', '2*1*Ana*4071*4071*20600')).toMatch(/Withdraw 20600 of your 20700\?/);
  });
});
