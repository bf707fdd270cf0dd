import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { migrateUssd } from '../store/migrations.ts';
import { createPersonalData } from '../store/personal-data.ts';
import type { UssdTables } from '../store/tables.ts';
import { createTextHash } from '../store/text-hash.ts';
import { createQuestions } from './assistant.ts';

test.each(engines)(
  'on %s the chat of a question that is answered after its caller was erased is not kept',
  async (engine) => {
    await using database = await createTestDatabase(engine);
    const store = await openStore<UssdTables>(database.url);
    await migrateUssd(store);
    const questions = createQuestions(store);
    const phone = '+254700000001';
    await questions.insertOnce({ id: 'q', phone, text: 'Will it rain?', now: 1 });
    for (const chat of ['one', 'two']) {
      await questions.setChat('q', chat);
      expect(await questions.findChat(phone)).toBe(chat);
    }
    const personalData = createPersonalData(createTextHash(Buffer.alloc(32)));
    await store.transaction((trx) => personalData.erase(trx, phone));
    await questions.setChat('q', 'three');
    expect(await questions.findChat(phone)).toBeUndefined();
    await store.close();
  },
);
