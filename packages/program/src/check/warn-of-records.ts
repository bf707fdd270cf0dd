import type { CheckedValues } from '../actions/keyword.ts';
import type { PlacedState, PlacedStates } from '../parse/parse-menu.ts';
import { kindOf, reach, targetsOf } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';

type Checked = Pick<CheckedValues, 'expressions'>;

/** What the keyword of a state says that has the field. */
function specWith<Field extends 'find' | 'total' | 'store'>(field: Field, placed: PlacedState | undefined) {
  const spec = placed?.state.kind === 'action' ? placed.state.spec : undefined;
  return spec && field in spec ? (spec as Extract<typeof spec, Record<Field, string>>) : undefined;
}

/** A list from `find` holds some records only, so a sum of it may be wrong. */
export function warnOfSums(states: PlacedStates, { expressions }: Checked): Fault[] {
  const lists = [...states.values()].flatMap((placed) => specWith('find', placed) ?? []);
  return [...states.values()].flatMap(({ state, inherited, fault }) =>
    state.kind !== 'set' || inherited
      ? []
      : Object.entries(state.values).flatMap(([value, source]) => {
          const { names = [] } = expressions.get(source) ?? {};
          const found = /\bsum\(/.test(source) ? lists.find(({ save }) => names.includes(save)) : undefined;
          const remedy = `\`total: ${found?.find}\` adds up all of them`;
          return found ? [fault(['values', value], `${source} adds up at most ${found.limit} records; ${remedy}`)] : [];
        }),
  );
}

/** Calls at the same time all pass a condition over a total that each of them has read before it writes. */
export function warnOfUnchecked(states: PlacedStates, { expressions }: Checked, start: string): Fault[] {
  const totals = [...states.values()].flatMap((placed) => specWith('total', placed) ?? []);
  const warnings = new Map<string, Fault>();
  for (const { state, inherited } of states.values()) {
    if (inherited || state.kind === 'action') continue;
    const conditions = [...(kindOf(state).expressions?.(state) ?? [])].filter(({ wanted }) => wanted === 'bool');
    const names = conditions.flatMap(({ source }) => expressions.get(source)?.names ?? []);
    for (const { total, save } of totals) {
      const value = Object.keys(save).find((saved) => names.includes(saved));
      if (value === undefined) continue;
      // The start and another total begin something new.
      const isNew = (name: string) => name === start || specWith('total', states.get(name)) !== undefined;
      const next = (name: string) => {
        const placed = states.get(name);
        return placed && !isNew(name) ? targetsOf(placed.state).map(({ to }) => to) : [];
      };
      for (const name of reach(
        targetsOf(state).map(({ to }) => to),
        next,
      )) {
        const placed = states.get(name);
        const stored = specWith('store', placed);
        if (!placed || isNew(name) || stored?.store !== total || stored.check) continue;
        const remedy = 'a `check` of the store looks at it again';
        warnings.set(
          name,
          placed.fault(['store'], `calls at the same time may have read the same \`${value}\` before; ${remedy}`),
        );
      }
    }
  }
  return [...warnings.values()];
}
