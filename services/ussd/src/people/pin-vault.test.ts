import { randomBytes } from 'node:crypto';
import { openStore } from '@palaver/store';
import { createAuditLog, createKeyRing, keyIdOf } from '@palaver/store/internal';
import { createTestDatabase } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { parseKey } from '../config.ts';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';
import { createAccounts } from './accounts.ts';
import {
  countFailure,
  createPinVault,
  isLocked,
  isLockedForGood,
  type Lockout,
  minutesLeft,
  noFailures,
  resetFailures,
} from './pin-vault.ts';

const first = randomBytes(32);
const second = randomBytes(32);

describe('keys', () => {
  test('are 32 bytes as hex or base64, or 32 characters as material', () => {
    expect(parseKey(first.toString('hex'))).toEqual(first);
    expect(parseKey(first.toString('base64'))).toEqual(first);
    expect(parseKey(first.toString('base64url'))).toEqual(first);
    const material = parseKey('thirty-two characters of phrase!');
    expect(material).toHaveLength(32);
    expect(material?.toString()).not.toBe('thirty-two characters of phrase!');
    for (const bad of ['', 'short', 'x'.repeat(33), first.toString('hex').slice(1)])
      expect(parseKey(bad)).toBeUndefined();
  });
});

describe('PIN records', () => {
  test('accept the right PIN and refuse others', async () => {
    const vault = createPinVault(createKeyRing(first));
    const record = await vault.create('4071', 'account-1');
    expect(await vault.verify('4071', record, 'account-1')).toBe(true);
    expect(await vault.verify('4072', record, 'account-1')).toBe(false);
    expect(record).not.toContain('4071');
  });

  test('are sealed with AES-256-GCM under a fresh nonce and name their key', async () => {
    const keys = createKeyRing(first);
    const vault = createPinVault(keys);
    const records = await Promise.all(Array.from({ length: 4 }, () => vault.create('4071', 'a')));
    const [version, id, nonce] = records[0]?.split('.') ?? [];
    expect([version, id]).toEqual(['v1', keys.currentId]);
    expect(Buffer.from(nonce ?? '', 'base64url')).toHaveLength(12);
    expect(new Set(records.map((record) => record.split('.')[2])).size).toBe(4);
    const inside = JSON.parse(keys.open(records[0] ?? '', 'a').toString());
    expect(inside).toMatchObject({ N: 16384, r: 8, p: 1 });
  });

  test('do not open for another account, nor when a byte is changed', async () => {
    const vault = createPinVault(createKeyRing(first));
    const record = await vault.create('4071', 'account-1');
    await expect(vault.verify('4071', record, 'account-2')).rejects.toThrow();
    const last = record.at(-2) === 'A' ? 'B' : 'A';
    await expect(vault.verify('4071', `${record.slice(0, -2)}${last}${record.at(-1)}`, 'account-1')).rejects.toThrow();
  });

  test('stay readable under old keys and are sealed again with the current one', async () => {
    const record = await createPinVault(createKeyRing(first)).create('4071', 'a');
    const keys = createKeyRing(second, [first]);
    const vault = createPinVault(keys);
    expect(await vault.verify('4071', record, 'a')).toBe(true);
    const resealed = vault.reseal(record, 'a');
    expect(keyIdOf(resealed)).toBe(keys.currentId);
    expect(await createPinVault(createKeyRing(second)).verify('4071', resealed, 'a')).toBe(true);
    await expect(createPinVault(createKeyRing(second)).verify('4071', record, 'a')).rejects.toThrow(
      'PIN_ENCRYPTION_KEYS_OLD',
    );
  });
});

test('a right PIN is right while keys rotate or a lock ends, one that was changed meanwhile is not, and of two resets at once one counts', async () => {
  await using database = await createTestDatabase('sqlite');
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const audit = createAuditLog(store, { service: 'ussd', referenceKey: randomBytes(32), retentionDays: 1 });
  const open = (keys: ReturnType<typeof createKeyRing>) =>
    createAccounts(store, { vault: createPinVault(keys), audit, clock: Date });
  const rotated = createKeyRing(second, [first]);
  const before = open(createKeyRing(first, [second]));
  const { account, insert } = await before.prepare({ phone: '+254700000001', name: 'Ana', pin: '4071', address: null });
  await store.transaction(insert);
  const checked = await before.checkPin(account, '4071');
  expect(await open(rotated).rotate(rotated.currentId)).toBe(1);
  expect(await store.transaction((trx) => before.countPin(trx, checked))).toMatchObject({ kind: 'right' });

  const [again] = await store.db.selectFrom('ussd_account').selectAll().execute();
  if (!again) throw new Error('there is an account');
  const old = await before.checkPin(again, '4071');
  const next = await before.hashNewPin(again, '4071');
  await store.transaction((trx) => before.setPin(trx, again, next));
  expect(await store.transaction((trx) => before.countPin(trx, old))).toMatchObject({ kind: 'wrong' });

  // Not hashed, so nobody knows whether it is right.
  const locked = await before.checkPin({ ...again, locked_until: Date.now() + minute }, '4071');
  expect(await store.transaction((trx) => before.countPin(trx, locked))).toMatchObject({
    kind: 'locked',
    newly: false,
  });
  const [unlocked] = await store.db.selectFrom('ussd_account').select('failed_total').execute();
  expect(unlocked).toEqual({ failed_total: 1 });
  const by = { actor: 'operator:ann', from: null } as const;
  const resets = await Promise.allSettled([1, 2].map(() => before.resetPin(account.phone, by)));
  expect(resets.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const pins = resets.map((reset) => (reset.status === 'fulfilled' ? reset.value : undefined));
  const pin = pins.find((value) => value !== undefined) ?? '';
  const kept = await before.find(account.phone);
  expect(kept && (await before.checkPin(kept, pin))).toMatchObject({ matches: true });
  await audit.close();
  await store.close();
});

const minute = 60_000;

function failTimes(times: number, from: Lockout, now: number): Lockout {
  return Array.from({ length: times }).reduce<Lockout>((lockout) => countFailure(lockout, now), from);
}

test('three wrong in a row lock, two do not', () => {
  expect(isLocked(failTimes(2, noFailures, 0), 0)).toBe(false);
  const locked = failTimes(3, noFailures, 0);
  expect(isLocked(locked, 5 * minute - 1)).toBe(true);
  expect(isLocked(locked, 5 * minute)).toBe(false);
  expect(minutesLeft(locked, minute + 1)).toBe(4);
});

test('an instance whose clock is a little behind names no longer wait than the lock has', () => {
  expect(minutesLeft(failTimes(3, noFailures, 0), -50)).toBe(5);
});

test('each lock is twice as long as the one before, up to a day', () => {
  let lockout = noFailures;
  const lengths = Array.from({ length: 12 }, () => {
    lockout = failTimes(3, lockout, 0);
    return (lockout.locked_until ?? 0) / minute;
  });
  expect(lengths).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440, 1440]);
});

test('a hundred wrong in all lock for good, however long one waits and however often the right one comes between', () => {
  let lockout = noFailures;
  for (let i = 1; i < 100; i++) {
    lockout = resetFailures(countFailure(lockout, 0));
    expect(isLockedForGood(lockout)).toBe(false);
  }
  lockout = countFailure(lockout, 0);
  expect(isLockedForGood(lockout)).toBe(true);
  expect(isLocked(lockout, Number.MAX_SAFE_INTEGER)).toBe(true);
});
