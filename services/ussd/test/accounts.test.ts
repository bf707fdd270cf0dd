import { randomBytes } from 'node:crypto';
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { rotateKeys } from '../src/commands/database.ts';
import type { UssdTables } from '../src/store/tables.ts';
import { register, startService, testKey } from './service-fixture.ts';

const hex = () => randomBytes(32).toString('hex');

describe.each(engines)('accounts on %s', (engine) => {
  test('wrong PINs are counted across sessions and instances, and the PIN survives', async () => {
    await using service = await startService(engine);
    const second = await service.startAnother();
    await register(service, 'r');
    expect(await service.say('a', '2*2*9990')).toContain('Tries left - 2');
    expect(await second.say('b', '2*2*9991')).toContain('Tries left - 1');
    expect(await service.say('c', '3*1*5*9992')).toContain('Too many wrong PINs. Try again in 5 min.');
    expect(await second.say('d', '2*2*4071')).toContain('Too many wrong PINs.');
    const store = await openStore<UssdTables>(service.databaseUrl);
    await store.db
      .updateTable('ussd_account')
      .set({ locked_until: Date.now() - 1 })
      .execute();
    await store.close();
    expect(await second.say('e', '2*2*4071')).toContain('Welcome back, Ana!');
  });

  test('guesses sent all at once, to two instances, are counted one by one: the third locks, the rest are refused without a check', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    const second = await service.startAnother();
    const guesses = ['9990', '9991', '9992', '9993', '9994', '9995'];
    const replies = await Promise.all(guesses.map((pin, i) => (i % 2 ? second : service).say(`g${i}`, `2*2*${pin}`)));
    expect(replies.filter((reply) => reply.includes('Tries left'))).toHaveLength(2);
    expect(replies.filter((reply) => reply.includes('Too many wrong PINs'))).toHaveLength(4);
  });

  test('a retry of a wrong PIN is not counted again', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    for (let i = 0; i < 5; i++) expect(await service.say('a', '2*2*9990')).toContain('Tries left - 2');
    expect(await service.say('a', '2*2*9990*4071')).toContain('Welcome back');
    expect(await service.say('b', '2*2*9990')).toContain('Tries left - 2');
  });

  test('one number has one account, also when it registers twice at once', async () => {
    await using service = await startService(engine);
    const replies = await Promise.all([register(service, 'a'), register(service, 'b')]);
    expect(replies.filter((reply) => reply.includes('Your account is ready'))).toHaveLength(1);
    expect(replies.filter((reply) => reply.includes('has an account'))).toHaveLength(1);
  });

  test('keys rotate while the service runs on', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    await service.say('s', '2*2');
    const key = hex();
    const env = { DATABASE_URL: service.databaseUrl, PIN_ENCRYPTION_KEY: key, PIN_ENCRYPTION_KEYS_OLD: testKey };
    const next = await service.startAnother(env);
    expect(await rotateKeys(env)).toEqual({ accounts: 1, secret: true });
    expect(await rotateKeys(env)).toEqual({ accounts: 0, secret: false });
    expect(await next.say('s', '2*2*4071')).toContain('Welcome back');
    const after = await service.startAnother({ PIN_ENCRYPTION_KEY: key });
    expect(await after.say('s', '2*2*4071*2')).toContain('no reports yet');
    await expect(service.startAnother({ PIN_ENCRYPTION_KEY: hex() })).rejects.toThrow('PIN_ENCRYPTION_KEYS_OLD');
  });
});
