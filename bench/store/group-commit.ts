// Group commit against one transaction per write, by 200 callers that each wait for their commit: npm run bench:store
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '@palaver/store';
import { openBench } from '../harness.ts';
import { createItems } from './items.ts';

const callers = 200;
const roundMs = 1_000;
const rounds = 3;

interface Item {
  id: number;
  body: string;
}

type Write = (item: Item) => Promise<unknown>;

const createTable = 'create table item (id integer primary key, body text not null)';
const insertText = 'insert into item (id, body) values (?, ?)';
const body = 'x'.repeat(200);
let nextId = 1;

await using bench = openBench();
const met = await compare('SQLite', `file:${join(bench.dir, 'bench.sqlite')}`);
const ceiling = handWrittenCeiling(join(bench.dir, 'ceiling.sqlite'));
console.log(`  node:sqlite by hand, ${callers} rows per transaction, nobody waiting: ${format(ceiling)} writes/s\n`);
await compare('PostgreSQL', await bench.startPostgres({ durable: true }));
console.log(met ? 'SQLite: at least 3 times' : 'SQLite: LESS THAN 3 TIMES');
process.exitCode = met ? 0 : 1;

async function compare(name: string, url: string): Promise<boolean> {
  const store = await openStore<{ item: Item }>(url);
  await createItems(store);
  const insert = store.prepare((db, p: { id: number; body: string }) =>
    db.insertInto('item').values({ id: p.id, body: p.body }),
  );
  const single: Write = (item) => store.transaction((trx) => insert({ ...item }, trx), { isolation: 'read committed' });
  const statement: Write = (item) => insert({ ...item });
  const writer = store.createGroupWriter<Item, void>({
    isolation: 'read committed',
    async apply(trx, items) {
      if (store.engine === 'postgres') await trx.insertInto('item').values(items).execute();
      else for (const item of items) await insert({ ...item }, trx);
      return items.map(() => undefined);
    },
  });
  const group: Write = (item) => writer.write(item);

  const ways: [string, Write][] = [
    ['one transaction per write', single],
    ['one bare statement per write', statement],
    ['group commit', group],
  ];
  const best = new Map(ways.map(([label]) => [label, 0]));
  for (let round = 0; round < rounds; round++) {
    for (const [label, write] of ways) best.set(label, Math.max(best.get(label) ?? 0, await measure(write)));
  }
  await store.close();

  const base = best.get('one transaction per write') ?? 0;
  console.log(`${name} (${callers} callers, best of ${rounds} rounds of ${roundMs} ms)`);
  for (const [label, rate] of best) {
    console.log(`  ${label.padEnd(30)} ${format(rate).padStart(9)} writes/s ${(rate / base).toFixed(1).padStart(6)} ×`);
  }
  return (best.get('group commit') ?? 0) >= 3 * base;
}

async function measure(write: Write): Promise<number> {
  const start = performance.now();
  let count = 0;
  const call = async () => {
    while (performance.now() - start < roundMs) {
      await write({ id: nextId++, body });
      count++;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return (count / (performance.now() - start)) * 1000;
}

function handWrittenCeiling(path: string): number {
  const database = new DatabaseSync(path);
  database.exec(`pragma journal_mode = wal; pragma synchronous = full; ${createTable}`);
  const insert = database.prepare(insertText);
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < roundMs) {
    database.exec('begin immediate');
    for (let index = 0; index < callers; index++) insert.run(count++, body);
    database.exec('commit');
  }
  const rate = (count / (performance.now() - start)) * 1000;
  database.close();
  return rate;
}

function format(rate: number): string {
  return Math.round(rate).toLocaleString('en');
}
