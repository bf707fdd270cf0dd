import { expect, test } from 'vitest';
import { type FigureSource, newErrors, streamFigures } from './figures.ts';

/** What a page reads in some ticks. */
async function collect(sources: FigureSource[], ticks: number): Promise<string[][]> {
  const read: string[][] = [[]];
  const end = new Error('enough');
  const wait = async () => {
    if (read.length === ticks) throw end;
    read.push([]);
  };
  try {
    for await (const line of streamFigures(sources, wait)) read.at(-1)?.push(line);
  } catch (error) {
    if (error !== end) throw error;
  }
  return read;
}

test('a part is sent when it has changed, whatever else has not', async () => {
  let tick = 0;
  const lines = await collect(
    [
      { name: 'still', read: async () => ({ status: 'ok', uptime: tick, height: tick }) },
      { name: 'moving', read: async () => Math.floor(tick++ / 2) },
      { name: 'nothing', read: async () => undefined },
    ],
    4,
  );
  expect(lines).toEqual([
    ['{"still":{"status":"ok","uptime":0,"height":0}}\n', '{"moving":0}\n'],
    [],
    ['{"moving":1}\n'],
    [],
  ]);
});

const mostIn15Seconds = (read: string[][]) =>
  Math.max(
    ...read.slice(1).map(
      (_, at) =>
        read
          .slice(at + 1, at + 5)
          .flat()
          .join('').length,
    ),
  );

test('however much changes, an open page reads at most 5 kB in 15 s, and every part has its turn', async () => {
  let tick = 0;
  const large = (name: string): FigureSource => ({ name, read: async () => `${tick++}`.repeat(1_000).slice(0, 3_000) });
  const read = await collect([large('one'), large('two'), large('three'), large('four')], 12);
  expect(mostIn15Seconds(read)).toBeLessThanOrEqual(5_000);
  for (const name of ['one', 'two', 'three', 'four'])
    expect(read.flat().some((line) => line.includes(name))).toBe(true);
});

test('what changes after a quiet minute is read within the same limit', async () => {
  let reads = 0;
  const names = Array.from({ length: 20 }, (_, at) => `part ${at}`);
  const sources = names.map((name) => ({ name, read: async () => (reads++ < 12 * 20 ? 0 : `${reads}`.repeat(100)) }));
  const read = await collect(sources, 24);
  expect(read.slice(12).flat().length).toBeGreaterThan(5);
  expect(mostIn15Seconds(read)).toBeLessThanOrEqual(5_000);
});

test('errors are sent once, and a fault comes before a flood of refusals', async () => {
  const toError = (second: number, status: number) => ({
    time: `2026-11-17T10:00:${second}.000Z`,
    ms: 1,
    requestId: `r${second}`,
    method: 'GET',
    path: '/',
    status,
  });
  const errors = [toError(10, 500), ...Array.from({ length: 20 }, (_, at) => toError(11 + at, 404))];
  const source = newErrors({ name: 'errors', read: async () => ({ errors }) });
  const [first = [], second] = await collect([source], 2);
  const { errors: sent } = JSON.parse(first[0] ?? '') as { errors: { requestId: string }[] };
  expect(sent.map(({ requestId }) => requestId)).toEqual(['r10', 'r30', 'r29', 'r28', 'r27']);
  expect(second).toEqual([]);
});
