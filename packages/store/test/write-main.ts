// Writes until it is killed and prints each id after its commit was confirmed; see group-writer.test.ts.
import { openStore } from '../src/index.ts';

const store = await openStore<{ item: { id: string } }>(process.argv[2] ?? '');
const insert = store.prepare((db, p: { id: string }) => db.insertInto('item').values({ id: p.id }));
const writer = store.createGroupWriter<string, void>({
  async apply(trx, ids) {
    for (const id of ids) await insert({ id }, trx);
    return ids.map(() => undefined);
  },
});
const writeOn = async (lane: number) => {
  for (let index = 0; ; index++) {
    const id = `${lane}-${index}`;
    await writer.write(id);
    process.stdout.write(`ok ${id}\n`);
  }
};
await Promise.all(Array.from({ length: 20 }, (_, lane) => writeOn(lane)));
