// CPU time of encryption at rest: the same rows in SQLite, with a key and without one: npm run bench:encryption
import { join } from 'node:path';
import { openStore, type SealedTable } from '@palaver/store';
import { openCipher } from '@palaver/store/internal';
import { openBench } from '../harness.ts';
import { createItems } from './items.ts';

const table: SealedTable = { table: 'item', key: ['id'], sealed: ['body'], tokens: ['phone'] };
const lengths = [200, 2_000, 20_000];
const rowCount = 5_000;
const batch = 500;
const rounds = 5;

type Item = { id: number; phone: string; body: string };

interface Cost {
  write: number;
  read: number;
}

await using bench = openBench();
const rows = [];
for (const characters of lengths) {
  const plain: Cost[] = [];
  const encrypted: Cost[] = [];
  for (let round = 0; round < rounds; round++) {
    plain.push(await measure(`plain-${characters}-${round}`, characters));
    encrypted.push(await measure(`encrypted-${characters}-${round}`, characters, [Buffer.alloc(32, 7)]));
  }
  const least = (all: Cost[], what: keyof Cost) => Number(Math.min(...all.map((cost) => cost[what])).toFixed(1));
  rows.push({
    characters,
    write: least(plain, 'write'),
    'write with key': least(encrypted, 'write'),
    read: least(plain, 'read'),
    'read with key': least(encrypted, 'read'),
  });
}
console.log(`Microseconds of CPU time for each row (least of ${rounds} rounds of ${rowCount} rows)`);
console.table(rows);

async function measure(name: string, length: number, dataKeys: Buffer[] = []): Promise<Cost> {
  const store = await openStore<{ item: Item }>(`file:${join(bench.dir, `${name}.sqlite`)}`, { dataKeys });
  await createItems(store, 'phone');
  await openCipher(store);
  const body = 'x'.repeat(length);
  const insert = store.prepare((db, row: Item) =>
    db.insertInto('item').values({ id: row.id, phone: row.phone, body: row.body }),
  );
  const find = store.prepare((db, { id }: { id: number }) => db.selectFrom('item').selectAll().where('id', '=', id));
  const write = await cpuOf(async () => {
    for (let first = 0; first < rowCount; first += batch)
      await store.transaction(async (trx) => {
        for (let id = first; id < first + batch; id++) {
          const row = { id, phone: `+2547${String(id).padStart(8, '0')}`, body };
          await insert(store.cipher.sealRow(table, row), trx);
        }
      });
  });
  const read = await cpuOf(async () => {
    for (let id = 0; id < rowCount; id++) {
      const { rows } = await find({ id });
      if (!rows[0] || store.cipher.openRow(table, rows[0]).body !== body)
        throw new Error(`row ${id} is not as written`);
    }
  });
  await store.close();
  return { write, read };
}

/** Microseconds of this process, on all its threads, for each row. */
async function cpuOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / rowCount;
}
