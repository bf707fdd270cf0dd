import { openStore, type Store } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLedger, type Ledger } from './credits-ledger.ts';
import { type CreditsDatabase, creditsMigrations, systemAccounts } from './credits-schema.ts';

describe.each(engines)('the ledger on %s', (engine) => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let store: Store<CreditsDatabase>;
  let ledger: Ledger;
  let users = 0;
  const createUser = () => {
    users += 1;
    return `did:key:user${users}`;
  };

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await openStore(database.url);
    await store.migrate('agent-credits', creditsMigrations);
    ledger = createLedger(store, { free: 100, reservation: 10, claim: 50 });
  });
  afterAll(async () => {
    await store.close();
    await database[Symbol.asyncDispose]();
  });

  /** Every transaction sums to zero, every balance is the sum of its entries, no user is below zero. */
  async function audit() {
    const entries = await store.db.selectFrom('agent_credit_entry').selectAll().execute();
    const accounts = await store.db.selectFrom('agent_credit_account').selectAll().execute();
    const sums = (key: 'transaction_id' | 'account_id') => {
      const total = new Map<string, number>();
      for (const entry of entries) total.set(entry[key], (total.get(entry[key]) ?? 0) + entry.amount);
      return total;
    };
    expect([...sums('transaction_id')].filter(([, sum]) => sum !== 0)).toEqual([]);
    const byAccount = sums('account_id');
    for (const { id, balance } of accounts) {
      expect(balance, id).toBe(byAccount.get(id) ?? 0);
      expect(balance, id).toBeGreaterThanOrEqual(0);
    }
    const known = new Set([...Object.values<string>(systemAccounts), ...accounts.map(({ id }) => id)]);
    expect([...byAccount.keys()].filter((id) => !known.has(id))).toEqual([]);
    expect([...byAccount.values()].reduce((sum, amount) => sum + amount, 0)).toBe(0);
    const holds = await store.db.selectFrom('agent_credit_hold').selectAll().execute();
    const held = accounts.filter(({ id }) => id.startsWith('held:')).reduce((sum, { balance }) => sum + balance, 0);
    expect(held).toBe(holds.reduce((sum, { amount }) => sum + amount, 0));
  }

  test('a new user starts with the grant, once', async () => {
    const did = createUser();
    const seen = await Promise.all(Array.from({ length: 10 }, () => ledger.visit(did)));
    for (const account of seen) expect(account).toEqual({ did, balance: 100, held: 0, claims: [] });
    await audit();
  });

  test('bookings alone give no free credit; the visit after them does, once what was paid is used up', async () => {
    const did = createUser();
    await ledger.topUp({ did, amount: 1, idempotencyKey: `${did}-1` });
    expect(await ledger.account(did)).toMatchObject({ balance: 1 });
    expect(await ledger.visit(did)).toMatchObject({ balance: 1 });
    await ledger.reserve(did, `${did}-1`);
    await ledger.charge(did, `${did}-1`, 1);
    expect(await ledger.account(did)).toMatchObject({ balance: 0 });
    expect(await ledger.visit(did)).toMatchObject({ balance: 100 });
  });

  test('credit is set aside, what was used is booked, the rest comes back', async () => {
    const did = createUser();
    expect(await ledger.reserve(did, `${did}-1`)).toBeUndefined();
    expect(await ledger.account(did)).toMatchObject({ balance: 90, held: 10 });
    await ledger.charge(did, `${did}-1`, 3);
    expect(await ledger.account(did)).toMatchObject({ balance: 97, held: 0, claims: [] });
    await ledger.charge(did, `${did}-1`, 3);
    expect(await ledger.account(did)).toMatchObject({ balance: 97, held: 0 });
    await audit();
  });

  test('a cost beyond what was set aside comes from the balance', async () => {
    const did = createUser();
    await ledger.reserve(did, `${did}-1`);
    await ledger.charge(did, `${did}-1`, 60);
    expect(await ledger.account(did)).toMatchObject({ balance: 40, held: 0, claims: [] });
    await audit();
  });

  test('once all is spent a claim is open, nothing is taken in, and settling it opens the gate', async () => {
    const did = createUser();
    await ledger.reserve(did, `${did}-1`);
    await ledger.charge(did, `${did}-1`, 100);
    const { balance, claims } = await ledger.account(did);
    expect([balance, claims]).toMatchObject([0, [{ amount: 50, debt: 0, status: 'open' }]]);
    const claimIds = claims.map(({ claimId }) => claimId);
    expect(await ledger.reserve(did, `${did}-2`)).toEqual({ claimIds });
    expect(await ledger.reserve(did, `${did}-3`)).toEqual({ claimIds });
    const settled = await Promise.all(Array.from({ length: 5 }, () => ledger.settleClaim(claimIds[0] ?? '')));
    for (const account of settled) expect(account).toMatchObject({ balance: 50, claims: [] });
    expect(await ledger.reserve(did, `${did}-4`)).toBeUndefined();
    await audit();
  });

  // SQLite has one writer at a time in any case.
  const onPostgres = engine === 'postgres' ? test : () => {};
  onPostgres('bookings of other users wait for nobody', async () => {
    const [debtor, other] = [createUser(), createUser()];
    for (const did of [debtor, other]) {
      await ledger.visit(did);
      await ledger.reserve(did, `send ${did}`);
    }
    await ledger.charge(debtor, `send ${debtor}`, 130);
    const [claim] = (await ledger.account(debtor)).claims;
    // The payment, of which a part is revenue, is booked but not committed.
    await ledger.settleClaim(claim?.claimId ?? '', async () => {
      await ledger.charge(other, `send ${other}`, 1);
      await ledger.topUp({ did: other, amount: 1, idempotencyKey: other });
    });
    expect(await ledger.account(other)).toMatchObject({ balance: 100, held: 0 });
    await audit();
  });

  test('what nobody could pay is a debt: the claim asks for it, and settling it pays it', async () => {
    const did = createUser();
    await ledger.reserve(did, `${did}-1`);
    await ledger.charge(did, `${did}-1`, 130);
    const { claims } = await ledger.account(did);
    expect(claims).toMatchObject([{ amount: 80, debt: 30 }]);
    expect(await ledger.settleClaim(claims[0]?.claimId ?? '')).toMatchObject({ balance: 50, claims: [] });
    await audit();
  });

  test('a top-up pays debts first; one too small leaves the gate shut', async () => {
    const did = createUser();
    await ledger.reserve(did, `${did}-1`);
    await ledger.charge(did, `${did}-1`, 130);
    const topUp = (amount: number) => ledger.topUp({ did, amount, idempotencyKey: `${did}-${amount}` });
    expect(await topUp(20)).toMatchObject({ balance: 20, claims: [{ debt: 30 }] });
    expect(await ledger.reserve(did, `${did}-2`)).toMatchObject({ claimIds: [expect.any(String)] });
    expect(await topUp(15)).toMatchObject({ balance: 5, claims: [] });
    expect(await ledger.reserve(did, `${did}-3`)).toBeUndefined();
    await audit();
  });

  test('a top-up without a debt withdraws the claim; who pays it late has the credit', async () => {
    const did = createUser();
    await ledger.reserve(did, `${did}-1`);
    await ledger.charge(did, `${did}-1`, 100);
    const [claim] = (await ledger.account(did)).claims;
    expect(await ledger.topUp({ did, amount: 7, idempotencyKey: did })).toMatchObject({ balance: 7, claims: [] });
    expect(await ledger.settleClaim(claim?.claimId ?? '')).toMatchObject({ balance: 57 });
    expect(await ledger.settleClaim(claim?.claimId ?? '')).toMatchObject({ balance: 57 });
    await audit();
  });

  test('a repeated top-up changes nothing; its key for another payment is a conflict', async () => {
    const did = createUser();
    const payment = { did, amount: 5, idempotencyKey: `pay-${did}` };
    const all = await Promise.all(Array.from({ length: 8 }, () => ledger.topUp(payment)));
    for (const account of all) expect(account.balance).toBe(5);
    for (const other of [{ amount: 6 }, { did: createUser() }])
      await expect(ledger.topUp({ ...payment, ...other })).rejects.toMatchObject({ code: 'CONFLICT' });
    await audit();
  });

  test('a subscription: too little opens none, a renewal adds, and what is left at its end is taken back', async () => {
    const did = createUser();
    const subscription = { days: 30, allowance: 50, credits: 10 };
    const pay = (id: string, credits: number, isNew = true) =>
      ledger.bookPayment({ did, id: `${did}-${id}`, credits, claimIds: [], subscription }, async () => isNew);
    expect(await pay('short', 9)).toBe(true);
    expect(await ledger.account(did)).toEqual({ did, balance: 9, held: 0, claims: [] });
    expect([await pay('first', 12), await pay('first', 12, false), await pay('second', 10)]).toEqual([
      true,
      false,
      true,
    ]);
    const opened = await ledger.account(did);
    expect(opened).toMatchObject({ balance: 111, subscription: { allowance: 100, used: 0 } });
    await ledger.reserve(did, `${did}-1`);
    await ledger.charge(did, `${did}-1`, 30);
    await store.db.updateTable('agent_credit_subscription').set({ ends_at: 1 }).where('user_did', '=', did).execute();
    const ended = await Promise.all(Array.from({ length: 5 }, () => ledger.account(did)));
    // 70 of the allowance of 100 are left.
    for (const account of ended) expect(account).toEqual({ did, balance: 11, held: 0, claims: [] });
    await audit();
  });

  test('what a process that died had set aside comes back, and is booked if it ends after all', async () => {
    const did = createUser();
    await ledger.reserve(did, `${did}-1`);
    await store.db.updateTable('agent_credit_hold').set({ expires_at: 1 }).where('user_did', '=', did).execute();
    expect(await ledger.account(did)).toMatchObject({ balance: 100, held: 0 });
    await ledger.charge(did, `${did}-1`, 4);
    expect(await ledger.account(did)).toMatchObject({ balance: 96, held: 0 });
    await audit();
  });

  test('no claim is known by another id', async () => {
    expect(await ledger.settleClaim('nothing')).toBeUndefined();
  });

  test('200 sends at once: as many are taken in as can be paid for, and nothing goes below zero', async () => {
    const did = createUser();
    const sends = Array.from({ length: 200 }, (_, index) => `${did}-${index}`);
    const refused = await Promise.all(sends.map((sendId) => ledger.reserve(did, sendId)));
    const taken = sends.filter((_, index) => refused[index] === undefined);
    expect(taken).toHaveLength(10);
    expect(new Set(refused.flatMap((refusal) => refusal?.claimIds ?? [])).size).toBe(1);
    await Promise.all(taken.map((sendId) => ledger.charge(did, sendId, 15)));
    const account = await ledger.account(did);
    expect(account).toMatchObject({ balance: 0, held: 0 });
    expect(account.claims.reduce((sum, { debt }) => sum + debt, 0)).toBe(50);
    await audit();
  });

  test('200 whole turns at once, of few users and any cost', async () => {
    const dids = [createUser(), createUser(), createUser()];
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const did = dids[index % dids.length] ?? '';
        if (await ledger.reserve(did, `${did}-${index}`)) return 0;
        const cost = (index * 7) % 23;
        await ledger.charge(did, `${did}-${index}`, cost);
        return cost;
      }),
    );
    expect(outcomes.some((cost) => cost > 0)).toBe(true);
    await audit();
  });

  test('whatever happens in whatever order, the books balance', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('send' as const), cost: fc.nat({ max: 150 }) }),
      fc.record({ kind: fc.constant('hold' as const) }),
      fc.record({ kind: fc.constant('top-up' as const), amount: fc.integer({ min: 1, max: 200 }) }),
      fc.record({ kind: fc.constant('settle' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const did = createUser();
        await ledger.visit(did);
        for (const [index, entry] of steps.entries()) {
          const id = `${did}-${index}`;
          const before = await ledger.account(did);
          if (entry.kind === 'top-up') await ledger.topUp({ did, amount: entry.amount, idempotencyKey: id });
          else if (entry.kind === 'settle') await ledger.settleClaim(before.claims[0]?.claimId ?? '');
          else {
            const refused = await ledger.reserve(did, id);
            expect(refused === undefined).toBe(before.balance > 0 && before.claims.every(({ debt }) => debt === 0));
            if (!refused && entry.kind === 'send') await ledger.charge(did, id, entry.cost);
          }
        }
        const { balance, held, claims } = await ledger.account(did);
        // Nobody without credit is left without a way to get some, and nobody with credit is asked for more.
        if (balance === 0 && held === 0) expect(claims.length).toBeGreaterThan(0);
        if (balance > 0) expect(claims.every(({ debt }) => debt > balance)).toBe(true);
      }),
      { numRuns: 30 },
    );
    await audit();
  });
});
