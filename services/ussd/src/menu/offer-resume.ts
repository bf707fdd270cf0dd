import { resumeTarget } from './menu.ts';
import type { LocaleFile } from './parse-locale.ts';
import type { PlacedState } from './parse-menu.ts';
import { targetsOf } from './targets.ts';

const text = 'main.resume';
/** Below the key of More. */
const highestKey = 97;

/**
 * A call that has no room for more input is continued at the next dial, so a program that offers `@resume` nowhere gets an
 * option for it at the end of its first menu, where its languages have a text for it.
 */
export function offerResume(
  states: ReadonlyMap<string, PlacedState>,
  start: string,
  locales: readonly LocaleFile[],
): ReadonlyMap<string, PlacedState> {
  const first = states.get(start);
  if (first?.state.kind !== 'menu' || first.state.from || !locales.every(({ texts }) => texts.has(text))) return states;
  const isOffered = [...states.values()].some(({ state }) => targetsOf(state).some(({ to }) => to === resumeTarget));
  const { options } = first.state;
  const key = Math.max(...options.map((option) => Number(option.key))) + 1;
  if (isOffered || key > highestKey) return states;
  const option = { key: String(key), text, to: resumeTarget, when: 'resumable' };
  return new Map(states).set(start, { ...first, state: { ...first.state, options: [...options, option] } });
}
