import { expect, test } from 'vitest';
import { createByteCounter } from './byte-counter.ts';

test('an owner has what its shares have taken and not freed, and takes nothing where it is refused', () => {
  const asked: object[] = [];
  const open = createByteCounter(
    (holding) => asked.push(holding) > 0 && holding.own <= 5,
    () => new Error('no room'),
  );
  const [ana, anaToo, ben] = [open('ana'), open('ana'), open('ben')];
  ana.take(3);
  anaToo.take(2);
  ben.take(5);
  expect(() => ana.take(1)).toThrow('no room');
  ana.free();
  ana.free();
  anaToo.take(3);
  expect(asked).toEqual([
    { own: 3, others: 0, owners: 1 },
    { own: 5, others: 0, owners: 1 },
    { own: 5, others: 5, owners: 2 },
    { own: 6, others: 5, owners: 2 },
    { own: 5, others: 5, owners: 2 },
  ]);
});
