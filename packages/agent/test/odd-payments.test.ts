// Payments that anybody may make: they stop no other, and give nobody what was not paid for.
import { openStore } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { createAgentInstances } from './start-agent-process.ts';
import { startPaymentChain } from './start-payment-chain.ts';

test.each(engines)(
  'on %s odd payments stop no other, give no more than was paid, and stay on the list',
  async (engine) => {
    await using chain = await startPaymentChain();
    await using instances = await createAgentInstances(engine, {
      CREDITS_ENABLED: 'true',
      CREDITS_PAY_TO: chain.payTo,
      CREDITS_PRICE: '100uixo',
      CREDITS_POLL_MS: '100',
      CREDITS_FREE: '1000',
      ...chain.env,
    });
    const agent = await instances.start();
    const read = async (path: string) => (await agent.user.send('GET', path)).body;
    const balanceIs = (balance: number) =>
      waitFor(`a balance of ${balance}`, async () => (await read('/credits')).balance === balance);
    await balanceIs(1_000);
    // What no store takes, whatever the reason, is tried some times and then left to operators.
    const store = await openStore<Record<string, never>>(instances.databaseUrl);
    const refuse =
      engine === 'sqlite'
        ? sql`create trigger refuse before insert on agent_credit_payment when new.memo = 'refused'
          begin select raise(abort, 'refused by the test'); end`
        : sql`alter table agent_credit_payment add constraint refuse check (memo <> 'refused')`;
    await refuse.execute(store.db);
    await store.close();
    await chain.pay(99, 'less than a credit costs');
    await chain.pay(101, 'a\0b');
    await chain.pay(102, 'refused');
    await chain.pay(500, `top-up ${agent.user.did}`);
    await balanceIs(1_005);

    // Who only pays gets what was paid for; the free credit belongs to a first visit.
    const strangerDid = (await createSigner()).did();
    await chain.pay(100, `top-up ${strangerDid}`);
    await waitFor('the credit', async () => (await read(`/credits/accounts/${strangerDid}`)).balance > 0);
    expect(await read(`/credits/accounts/${strangerDid}`)).toMatchObject({ balance: 1 });

    // DIDs that nobody can have.
    for (const did of ['did:', 'did:key:z6MkTYPO!!', 'did:key:z6MkTYPO']) await chain.pay(103, `top-up ${did}`);
    const list = async () => (await read('/credits/payments')).payments as { amount: string; memo: string }[];
    await waitFor('all payments', async () => (await list()).length === 5);
    const expected = [
      ['101uixo', 'ab'],
      ['102uixo', ''],
      ...['did:', 'did:key:z6MkTYPO!!', 'did:key:z6MkTYPO'].map((did) => ['103uixo', `top-up ${did}`]),
    ];
    expect((await read('/credits/payments?limit=2&offset=4')).payments).toHaveLength(1);
    expect((await read('/credits/payments?status=dust')).payments).toMatchObject([{ amount: '99uixo' }]);
    expect((await list()).map(({ amount, memo }) => [amount, memo]).toSorted()).toEqual(expected.toSorted());
  },
);
