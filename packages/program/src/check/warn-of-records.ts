import type { CheckedValues } from '../actions/keyword.ts';
import type { PlacedState } from '../parse/parse-menu.ts';
import { kindOf, targetsOf } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';

/** A list from `find` holds some records only, so a sum of it may be wrong. */
export function warnOfSums(
  states: ReadonlyMap<string, PlacedState>,
  { expressions }: Pick<CheckedValues, 'expressions'>,
): Fault[] {
  const specs = Array.from(states.values(), ({ state }) => (state.kind === 'action' ? state.spec : undefined));
  const lists = specs.flatMap((spec) => (spec && 'find' in spec ? [spec] : []));
  return [...states].flatMap(([name, { state, file, lineOf, inherited }]) =>
    state.kind !== 'set' || inherited
      ? []
      : Object.entries(state.values).flatMap(([value, source]) => {
          const { names = [] } = expressions.get(source) ?? {};
          const found = /\bsum\(/.test(source) ? lists.find(({ save }) => names.includes(save)) : undefined;
          if (!found) return [];
          const message = `${source} adds up at most ${found.limit} records; \`total: ${found.find}\` adds up all of them`;
          return [{ file, line: lineOf('values', value), state: name, message }];
        }),
  );
}

/** Calls at the same time all pass a condition over a total that each of them has read before it writes. */
export function warnOfUnchecked(
  states: ReadonlyMap<string, PlacedState>,
  { expressions }: Pick<CheckedValues, 'expressions'>,
  start: string,
): Fault[] {
  const specOf = (name: string) => {
    const state = states.get(name)?.state;
    return state?.kind === 'action' ? state.spec : undefined;
  };
  const totals = [...states.keys()].flatMap((name) => {
    const spec = specOf(name);
    return spec && 'total' in spec ? [spec] : [];
  });
  const warnings = new Map<string, Fault>();
  for (const { state, inherited } of states.values()) {
    if (inherited || state.kind === 'action') continue;
    const conditions = [...(kindOf(state).expressions?.(state) ?? [])].filter(({ wanted }) => wanted === 'bool');
    const names = conditions.flatMap(({ source }) => expressions.get(source)?.names ?? []);
    for (const { total, save } of totals) {
      const value = Object.keys(save).find((saved) => names.includes(saved));
      if (value === undefined) continue;
      const follow = new Set(targetsOf(state).map(({ to }) => to));
      for (const name of follow) {
        const [placed, spec] = [states.get(name), specOf(name)];
        if (!placed || name === start || (spec && 'total' in spec)) continue;
        if (spec && 'store' in spec && spec.store === total && !spec.check)
          warnings.set(name, {
            file: placed.file,
            line: placed.lineOf('store'),
            state: name,
            message: `calls at the same time may have read the same \`${value}\` before; a \`check\` of the store looks at it again`,
          });
        for (const { to } of targetsOf(placed.state)) follow.add(to);
      }
    }
  }
  return [...warnings.values()];
}
