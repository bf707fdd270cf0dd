import type { Registry, State } from '../model/menu.ts';
import type { PlacedState } from '../parse/parse-menu.ts';
import { type ActionState, signatureOf } from '../states/action.ts';
import type { Target } from '../states/kind.ts';
import { kindOf, requiresLogin, targetsOf } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';

type States = ReadonlyMap<string, PlacedState>;

interface Step {
  name: string;
  /** The state before, with its field that leads here. */
  from?: { step: Step; path: PropertyKey[] };
}

/** An action that a caller can reach without having been asked for an answer that it needs would always fail there. */
export function checkAnswers(states: States, registry: Registry, roots: { start: string; login?: string }): Fault[] {
  return [...states].flatMap(([name, placed]) => {
    const { state } = placed;
    if (state.kind !== 'action' || state.spec) return [];
    return neededBy(state, registry).flatMap((answer) => {
      const step = findStepWithout(name, answer, { states, registry, roots });
      return step ? [toFault(step, states, { placed, answer, state })] : [];
    });
  });
}

/** Those in brackets may be missing. */
function neededBy(state: ActionState, registry: Registry): string[] {
  return signatureOf(state, registry)?.answers?.filter((answer) => !answer.startsWith('[')) ?? [];
}

interface Search {
  states: States;
  registry: Registry;
  roots: { start: string; login?: string };
}

/** The way to a state on which nothing gives the answer and no condition has to hold. */
function findStepWithout(to: string, answer: string, { states, registry, roots }: Search): Step | undefined {
  const open: Step[] = [{ name: roots.start }];
  const seen = new Set<string>();
  for (let step = open.shift(); step; step = open.shift()) {
    const state = states.get(step.name)?.state;
    if (!state || seen.has(step.name)) continue;
    if (step.name === to) return step;
    seen.add(step.name);
    const from = (path: PropertyKey[]) => ({ from: { step: step as Step, path } });
    if (requiresLogin(state) && roots.login) open.push({ name: roots.login, ...from(['requires']) });
    if (gives(state, answer, registry)) continue;
    open.push(...certainTargets(state).map(({ to: name, path }) => ({ name, ...from(path) })));
  }
  return undefined;
}

function gives(state: State, answer: string, registry: Registry): boolean {
  // An action that does not declare its values may give any.
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

interface Needing {
  placed: PlacedState;
  state: ActionState;
  answer: string;
}

/** At the last state of the program itself: what it extends cannot be changed. */
function toFault(reached: Step, states: States, { placed, state, answer }: Needing): Fault {
  const asking = [...states].find(
    ([, other]) => other.state.kind === 'prompt' && other.state.save === answer && other.state.to === reached.name,
  );
  const remedy = asking
    ? `lead to ${asking[0]} instead, which asks for it`
    : `ask for it first, with "save: ${answer}"`;
  const message = `the action ${state.action} of the state ${reached.name} needs the answer ${answer}: ${remedy}`;
  for (let { from } = reached; from; from = from.step.from) {
    const own = states.get(from.step.name);
    if (own && !own.inherited)
      return { file: own.file, line: own.lineOf(...from.path), state: from.step.name, message };
  }
  return { file: placed.file, line: placed.lineOf('action'), state: reached.name, message };
}
