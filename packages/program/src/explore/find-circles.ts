import type { Menu } from '../model/menu.ts';
import { reach } from '../states/states.ts';

/**
 * Groups of screens that lead only to each other, and to none where a dialogue may end: a page, a closing text, the start.
 * Out of them leads nothing but Back and Exit.
 */
export function findCircles({ states, start, exit }: Menu, ways: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const onward = (name: string) => [...(ways.get(name) ?? [])].filter((to) => to !== exit);
  const isEnd = (name: string) => {
    const kind = states.get(name)?.kind;
    return name === start || kind === 'end' || kind === 'page' || onward(name).length === 0;
  };
  const circles: string[][] = [];
  const seen = new Set<string>();
  for (const name of ways.keys()) {
    if (seen.has(name) || isEnd(name)) continue;
    const group = reach([name], onward);
    if ([...group].some(isEnd)) continue;
    for (const each of group) seen.add(each);
    circles.push([...group]);
  }
  return circles;
}
