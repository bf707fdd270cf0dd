import { expect, test, vi } from 'vitest';
import { toDate } from '../calls/read-stats.ts';
import { dayOf } from '../store/tables.ts';
import type { Result } from './results.ts';
import { summarize } from './summarize.ts';

const answers = (values: Record<string, string>[], day = '2026-11-17'): Result[] =>
  values.map((each, i) => ({
    id: String(i),
    phoneNumber: '+254700000001',
    createdAt: `${day}T10:00:00.000Z`,
    values: each,
  }));

async function* pieces(...lists: Result[][]) {
  yield* lists;
}

test('each question is shown in the form that fits its answers', async () => {
  const results = Array.from({ length: 40 }, (_, i) => ({
    crop: ['maize', 'beans', 'maize', ''][i % 4] ?? '',
    bags: String(i),
    price: (i / 4).toFixed(2),
    planted: `2026-03-${String(1 + (i % 3)).padStart(2, '0')}`,
    phone: `07000000${10 + i}`,
    message: `message ${i}`,
  }));
  const { count, days, questions } = await summarize(pieces(answers(results), answers([{}], '2026-11-16')), 100);
  expect(count).toBe(41);
  expect(days).toEqual([
    { day: '2026-11-16', count: 1 },
    { day: '2026-11-17', count: 40 },
  ]);
  const [crop, bags, price, planted, phone, message] = questions;
  expect(crop).toEqual({
    name: 'crop',
    answered: 30,
    kind: 'choices',
    values: [
      { value: 'maize', count: 20 },
      { value: 'beans', count: 10 },
    ],
    others: 0,
  });
  expect(bags).toMatchObject({ kind: 'numbers', median: 19, mean: 19.5 });
  expect(price).toMatchObject({ kind: 'numbers' });
  for (const question of [bags, price]) {
    if (question?.kind !== 'numbers') throw new Error('not numbers');
    expect(question.bins.length).toBeLessThanOrEqual(11);
    expect(question.bins.reduce((sum, bin) => sum + bin.count, 0)).toBe(40);
  }
  expect(planted).toMatchObject({ kind: 'dates', days: [{ day: '2026-03-01', count: 14 }, {}, {}] });
  // Numbers of people are not added up.
  expect(phone).toEqual({ name: 'phone', answered: 40, kind: 'texts', distinct: 40 });
  expect(message).toMatchObject({ kind: 'texts' });
});

test('whole numbers are counted in whole bins, which end with a number that is in them', async () => {
  const { questions } = await summarize(pieces(answers(['1', '2', '3', '3', '5'].map((size) => ({ size })))), 100);
  expect(questions[0]).toMatchObject({
    kind: 'numbers',
    bins: [1, 2, 3, 4, 5].map((from) => ({ from, to: from, count: [1, 1, 2, 0, 1][from - 1] })),
  });
});

test('reads no more results than asked for, and nothing of none', async () => {
  const many = answers(Array.from({ length: 30 }, () => ({ a: 'x' })));
  expect(await summarize(pieces(many, many), 40)).toMatchObject({ count: 40, questions: [{ answered: 40 }] });
  expect(await summarize(pieces([]), 40)).toEqual({ count: 0, days: [], questions: [] });
});

test.each(['Pacific/Kiritimati', 'America/Los_Angeles', 'Asia/Kathmandu'])(
  'days are those of UTC where the clock of the machine is that of %s',
  async (zone) => {
    vi.stubEnv('TZ', zone);
    try {
      expect(new Date(0).getTimezoneOffset()).not.toBe(0);
      const times = ['2026-11-17T23:59:59.999Z', '2026-11-18T00:00:00.000Z'];
      const results = times.map((createdAt, i) => ({ id: `${i}`, phoneNumber: '+1', createdAt, values: {} }));
      const { days } = await summarize(pieces(results), 10);
      expect(days).toEqual([
        { day: '2026-11-17', count: 1 },
        { day: '2026-11-18', count: 1 },
      ]);
      expect(times.map((time) => toDate(dayOf(Date.parse(time))))).toEqual(['2026-11-17', '2026-11-18']);
    } finally {
      vi.unstubAllEnvs();
    }
  },
);
