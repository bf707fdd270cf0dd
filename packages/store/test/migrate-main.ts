// One of several instances that start together on the same new database; see migrate.test.ts.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Migration, openStore } from '../src/index.ts';

const [url = '', startFile = ''] = process.argv.slice(2);
const store = await openStore(url);
process.stdout.write('ready\n');
while (!existsSync(startFile)) await sleep(1);

const create: Migration = {
  name: '000-create',
  async up(db) {
    await db.schema.createTable('step').addColumn('name', 'text').execute();
  },
};
const steps = Array.from({ length: 20 }, (_, index): Migration => {
  const name = `${String(index + 1).padStart(3, '0')}-step`;
  return {
    name,
    async up(db) {
      await sql`insert into step values (${name})`.execute(db);
    },
  };
});
await store.migrate('test', [create, ...steps]);
await store.close();
