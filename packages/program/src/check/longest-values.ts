import { translate } from '../model/locales.ts';
import type { Menu, State } from '../model/menu.ts';
import { isTyped } from '../states/prompt.ts';
import { kindOf } from '../states/states.ts';
import { longest, longestOf } from '../values/value-types.ts';

/** The longest value that a placeholder can have in a language. */
export function longestValue(menu: Menu, name: string, language: string): string {
  const [head = '', field] = name.split('.');
  const seen = { menu, language, say: (key: string) => translate(menu.locales, language, key) };
  const found = writersOf(menu, head).flatMap((state) => {
    const { labels = [], values = [] } = kindOf(state).longest?.(state, head, seen) ?? {};
    return field === 'label' ? labels : values;
  });
  const type = field === undefined ? (menu.types.get(head) ?? (head === 'today' ? 'date' : undefined)) : undefined;
  return longest(found) || longestOf(type);
}

/** The states that say how long a value is, by its name; computed once per menu. */
const writers = new WeakMap<Menu, Map<string, State[]>>();

function writersOf(menu: Menu, name: string): readonly State[] {
  const known = writers.get(menu) ?? new Map<string, State[]>();
  if (!writers.has(menu)) {
    writers.set(menu, known);
    for (const state of menu.states.values()) {
      const { gives, longest } = kindOf(state);
      const names = longest ? new Set(Array.from(gives?.(state, menu) ?? [], ([given]) => given)) : [];
      for (const given of names) known.set(given, [...(known.get(given) ?? []), state]);
    }
  }
  return known.get(name) ?? [];
}

/** Whether callers type the value freely. */
export const isTypedValue = (menu: Menu, name: string): boolean =>
  writersOf(menu, name).some((state) => state.kind === 'prompt' && isTyped(state));
