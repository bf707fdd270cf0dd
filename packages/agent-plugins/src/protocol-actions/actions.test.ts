import { createSeal, removeSettled } from '@palaver/agent';
import { createGatewayClient, createSigningAccount, createTxOutbox } from '@palaver/protocol';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, type Engine, engines, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import {
  type ActionsDatabase,
  actionsMigrations,
  actionsPersonalData,
  actionsRetention,
  createActions,
  type OrderLimits,
  onActionSettled,
} from './actions.ts';

const seal = createSeal(Buffer.alloc(32));
const referenceOf = (did: string) => `person:${did.slice(-3)}`;
const logger = createLogger({ name: 'test', level: 'silent' });
const message = { typeUrl: '/cosmos.bank.v1beta1.MsgSend', value: new Uint8Array(2) };

async function start(engine: Engine, limits: OrderLimits) {
  const database = await createTestDatabase(engine);
  const store = await openStore<ActionsDatabase>(database.url);
  await store.migrate('agent-actions', actionsMigrations);
  const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
  const gateway = createGatewayClient({ url: 'http://127.0.0.1:1' });
  const outbox = createTxOutbox<ActionsDatabase>({ store, service: 'agent', gateway, account, logger });
  const hashClient = (client: string) => `hash of ${client}`;
  const actions = createActions({ store, outbox, referenceOf, seal, hashClient, perDay: limits, work: async () => {} });
  return {
    store,
    outbox,
    actions,
    async [Symbol.asyncDispose]() {
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

test.each(engines)(
  'on %s users that one address makes, and all users together, order so much in a day',
  async (engine) => {
    await using started = await start(engine, { user: 2, address: 3, agent: 5 });
    const { actions, store } = started;
    let number = 0;
    const order = (client?: string) => {
      number += 1;
      const invocation = { serialized: 'token', cid: `cid-${number}` };
      return actions.order({
        id: `run:${number}`,
        userDid: `did:key:z${number}`,
        client,
        details: {},
        invocation,
        message,
      });
    };
    const atOnce = await Promise.all(Array.from({ length: 6 }, () => order('192.0.2.1')));
    expect(atOnce.filter((result) => result === 'ordered')).toHaveLength(3);
    expect(atOnce.filter((result) => result === 'too many of address')).toHaveLength(3);
    expect([await order('192.0.2.2'), await order()]).toEqual(['ordered', 'ordered']);
    expect([await order('192.0.2.3'), await order()]).toEqual(['too many of agent', 'too many of agent']);
    const stored = await store.db.selectFrom('agent_action').select('client').execute();
    expect(stored.filter(({ client }) => client === 'hash of 192.0.2.1')).toHaveLength(3);
    await store.db.updateTable('agent_action').set({ created_at: 1 }).execute();
    expect(await order('192.0.2.1')).toBe('ordered');
  },
);

test.each(engines)(
  'on %s orders at once stay within a day, each is stored once, and a refused one counts no more',
  async (engine) => {
    await using started = await start(engine, { user: 12, address: 10, agent: 30 });
    const { store, outbox, actions } = started;
    // More than a floating-point number holds exactly.
    const perDay = 5n * 10n ** 20n + 7n;
    const order = (id: string, amount: bigint, userDid = 'did:key:zAna') =>
      actions.order({
        id,
        userDid,
        details: { to: 'shop' },
        message,
        coins: { amount, perDay },
        invocation: { serialized: 'token', cid: `cid-${id}` },
      });
    const orders = Array.from({ length: 8 }, (_, index) => order(`run:${index}`, 10n ** 20n));
    expect((await Promise.all(orders)).filter((result) => result === 'ordered')).toHaveLength(5);
    expect(await order('other', perDay, 'did:key:zBen')).toBe('ordered');
    const rest = [await order('rest', 8n), await order('rest', 7n), await order('rest', 7n)];
    expect(rest).toEqual(['too much', 'ordered', 'ordered']);
    const rows = await outbox.list('waiting', 100);
    expect(rows).toHaveLength(7);
    const [first] = rows.filter(({ id }) => id.startsWith('action:run:'));
    expect(first?.memo).toBe(first?.id.replace('action:', 'cid-'));
    if (first) await store.transaction((trx) => onActionSettled(trx, { ...first, fault: 'sdk 5: poor' }, 'dead'));
    expect(await order('again', 10n ** 20n + 1n)).toBe('too much');
    expect(await order('again', 10n ** 20n)).toBe('ordered');
    const listed = await actions.list('did:key:zAna', 100);
    expect(listed.filter(({ status }) => status === 'failed')).toMatchObject([{ fault: 'sdk 5: poor' }]);
    expect(listed).toHaveLength(7);
    // An invocation holds a delegation of the user.
    const person = { did: 'did:key:zAna', reference: '', roomId: '' };
    const exported = await actionsPersonalData.collect(store.db, person, store.cipher);
    expect(exported.agent_action).toHaveLength(7);
    expect(JSON.stringify([listed, exported])).not.toContain('token');

    // Erasing begins no new day and leaves no name; what is on its way is still followed.
    const [did, reference] = ['did:key:zAna', referenceOf('did:key:zAna')];
    await store.transaction((trx) => actionsPersonalData.erase(trx, { did, reference, roomId: '' }));
    expect(await actions.list(did, 100)).toEqual([]);
    expect(await order('after', 8n)).toBe('too much');
    expect((await actions.list(reference, 1))[0]).toMatchObject({ details: '{}', invocation: '' });
    expect(await actions.isIdle()).toBe(false);
    // Orders are counted whatever becomes of them: the agent pays for each.
    const fail = () => store.db.updateTable('agent_action').set({ status: 'failed' }).execute();
    for (let index = 0; index < 5; index += 1) {
      await fail();
      expect(await order(`refused:${index}`, 1n)).toBe('ordered');
    }
    expect([await order('one more', 1n), await order('refused:0', 1n)]).toEqual(['too many of user', 'ordered']);
    await store.db.updateTable('agent_action').set({ created_at: 1 }).execute();
    expect(await order('next day', perDay)).toBe('ordered');
    expect(await actions.list(reference, 100)).toEqual([]);
    // What is settled is removed after its time; what is on its way stays.
    const left = async () =>
      (await store.db.selectFrom('agent_action').select('status').execute()).map(({ status }) => status);
    await fail();
    await store.db
      .updateTable('agent_action')
      .set({ created_at: Date.now() - 3 * 86_400_000 })
      .execute();
    expect(await order('on its way', 1n)).toBe('ordered');
    const removing = removeSettled({ store, logger, days: 2, rules: actionsRetention, everyMs: 10 });
    await waitFor('the refused orders to be removed', async () => !(await left()).includes('failed'));
    await removing.stop();
    expect(await left()).toEqual(['sending']);
  },
);
