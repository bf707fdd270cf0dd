import type { CheckedValues } from '../actions/keyword.ts';
import type { Registry, State } from '../model/menu.ts';
import type { PlacedState, PlacedStates } from '../parse/parse-menu.ts';
import { signatureOf } from '../states/action.ts';
import { at, type Target } from '../states/kind.ts';
import { expressionsOf, kindOf, nextOf, reach, requiresLogin, targetsOf } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';

interface Step {
  name: string;
  from?: { step: Step; path: PropertyKey[] };
}

/** An action that a caller can reach without having been asked for an answer that it needs would always fail there. */
export function checkAnswers(states: PlacedStates, registry: Registry, start: string, login = ''): Fault[] {
  return [...states].flatMap(([name, placed]) => {
    const { state } = placed;
    if (state.kind !== 'action' || state.spec) return [];
    const needed = signatureOf(state, registry)?.answers?.filter((answer) => !answer.startsWith('[')) ?? [];
    return needed.flatMap((answer) => {
      const way = findWay(start, name, (before) => {
        const each = states.get(before)?.state;
        const asked = requiresLogin(each) && login !== '' ? [at('requires', login)] : [];
        return !each || gives(each, answer, registry) ? asked : [...asked, ...certainTargets(each)];
      });
      if (!way) return [];
      const asks = ({ state }: PlacedState) => state.kind === 'prompt' && state.save === answer && state.to === name;
      const [asking] = [...states].find(([, each]) => asks(each)) ?? [];
      const remedy = asking
        ? `lead to ${asking} instead, which asks for it`
        : `ask for it first, with "save: ${answer}"`;
      const message = `the action ${state.action} of the state ${name} needs the answer ${answer}: ${remedy}`;
      // What the program extends cannot be changed.
      for (let before = way.from; before; before = before.step.from) {
        const own = states.get(before.step.name);
        if (own && !own.inherited) return [own.fault(before.path, message)];
      }
      return [placed.fault(['action'], message)];
    });
  });
}

/** The way to a state on which nothing gives the answer and no condition has to hold. */
function findWay(start: string, to: string, onward: (name: string) => Target[]): Step | undefined {
  const open: Step[] = [{ name: start }];
  const seen = new Set<string>();
  for (const step of open) {
    if (step.name === to) return step;
    if (seen.has(step.name)) continue;
    seen.add(step.name);
    open.push(...onward(step.name).map(({ to: name, path }) => ({ name, from: { step, path } })));
  }
  return undefined;
}

function gives(state: State, answer: string, registry: Registry): boolean {
  if (state.kind === 'action' && !signatureOf(state, registry)?.values) return true;
  const given = kindOf(state).gives?.(state, { registry, data: new Map(), records: {} }) ?? [];
  return [...given].some(([name]) => name === answer);
}

/** What follows a sub-flow or loop is left out: it may have given the answer. */
function certainTargets(state: State): Target[] {
  const targets = targetsOf(state);
  if (state.kind === 'branch') return [];
  if (state.kind === 'call' || state.kind === 'each') return targets.filter(({ label }) => label !== 'to');
  if (state.kind !== 'menu' && state.kind !== 'page') return targets;
  return targets.filter((_, i) => state.options[i]?.when === undefined);
}

type Checked = Pick<CheckedValues, 'expressions'>;

function specWith<Field extends 'find' | 'total' | 'store'>(field: Field, placed: PlacedState | undefined) {
  const spec = placed?.state.kind === 'action' ? placed.state.spec : undefined;
  return spec && field in spec ? (spec as Extract<typeof spec, Record<Field, string>>) : undefined;
}

/** A list from `find` holds some records only, so a sum of it may be wrong. */
export function warnOfSums(states: PlacedStates, { expressions }: Checked): Fault[] {
  const lists = [...states.values()].flatMap((placed) => specWith('find', placed) ?? []);
  return [...states.values()].flatMap(({ state, inherited, fault }) => {
    const sums = state.kind === 'set' && !inherited ? Object.entries(state.values) : [];
    return sums.flatMap(([value, source]) => {
      const names = expressions.get(source)?.names ?? [];
      const found = /\bsum\(/.test(source) ? lists.find(({ save }) => names.includes(save)) : undefined;
      const remedy = `\`total: ${found?.find}\` adds up all of them`;
      return found ? [fault(['values', value], `${source} adds up at most ${found.limit} records; ${remedy}`)] : [];
    });
  });
}

/** Calls at the same time all pass a condition over a total that each of them has read before it writes. */
export function warnOfUnchecked(states: PlacedStates, { expressions }: Checked, start: string): Fault[] {
  const totals = [...states.values()].flatMap((placed) => specWith('total', placed) ?? []);
  const warnings = new Map<string, Fault>();
  for (const { state, inherited } of states.values()) {
    if (inherited || state.kind === 'action') continue;
    const conditions = expressionsOf(state).filter(({ wanted }) => wanted === 'bool');
    const names = conditions.flatMap(({ value }) => expressions.get(value)?.names ?? []);
    for (const { total, save } of totals) {
      const value = Object.keys(save).find((saved) => names.includes(saved));
      if (value === undefined) continue;
      // The start and another total begin something new.
      const isNew = (name: string) => name === start || specWith('total', states.get(name)) !== undefined;
      const next = (name: string) => (isNew(name) ? [] : nextOf(states.get(name)?.state));
      for (const name of reach(nextOf(state), next)) {
        const placed = states.get(name);
        const stored = specWith('store', placed);
        if (!placed || isNew(name) || stored?.store !== total || stored.check) continue;
        const remedy = 'a `check` of the store looks at it again';
        const message = `calls at the same time may have read the same \`${value}\` before; ${remedy}`;
        warnings.set(name, placed.fault(['store'], message));
      }
    }
  }
  return [...warnings.values()];
}
