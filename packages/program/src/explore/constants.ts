import type { Menu } from '../model/menu.ts';

/** What the expressions of a program compare with: answers on both sides of each are worth trying. */
export interface Constants {
  numbers: readonly number[];
  texts: readonly string[];
}

const most = 12;

export function constantsOf({ expressions }: Pick<Menu, 'expressions'>): Constants {
  return readConstants([...expressions.keys()]);
}

export function readConstants(sources: readonly string[]): Constants {
  const numbers = new Set<number>();
  const texts = new Set<string>();
  for (const source of sources) {
    for (const [, text = ''] of source.matchAll(/["']([^"'\\]{1,40})["']/g)) texts.add(text);
    for (const [number] of source.replace(/["'][^"']*["']/g, '').matchAll(/(?<![\w.])\d{1,9}(?:\.\d+)?/g))
      numbers.add(Number(number));
  }
  return { numbers: [...numbers].slice(0, most), texts: [...texts].slice(0, most) };
}

/** Each number with its neighbours. */
export function around(numbers: readonly number[]): string[] {
  return numbers.flatMap((number) => [number, number + 1, number - 1].map(String));
}
