import { expect, test } from 'vitest';
import { toCsv } from './show-rows.ts';

test('an export that nobody reads any more reads no further', async () => {
  let read = 0;
  async function* all() {
    for (let id = 0; id < 5; id += 1) {
      read += 1;
      yield [{ id: String(id), values: { [`q${id}`]: String(id) } }];
    }
  }
  const options = {
    columns: ['id'],
    valuesOf: (row: { id: string; values: Record<string, string> }) => row.values,
  };
  const file = toCsv(all, options);
  await file.next();
  await file.return(undefined);
  expect(read).toBe(1);
  let text = '';
  for await (const piece of toCsv(all, options)) text += piece;
  expect(text).toMatch(/^id,q0,q1,q2,q3,q4\r\n0,0,,,,\r\n/);
});
