/** One thing that can happen in a state. */
export interface Step<State> {
  label: string;
  state: State;
  /** `system`: happens some time where it can. `user`: may never happen. `fault`: as often as the configuration allows. */
  by: 'system' | 'user' | 'fault';
}

export interface Model<State> {
  start: State;
  steps(state: State): Step<State>[];
  /** The same text for states that differ in names only. */
  encode(state: State): string;
  /** The invariant that the state breaks. */
  findViolation(state: State): string | undefined;
  /** Nothing is left to do. */
  isDone(state: State): boolean;
}

export interface Violation {
  what: string;
  /** The shortest way there. */
  trace: string[];
}

export interface Exploration {
  states: number;
  steps: number;
  /** The longest of the shortest ways to a state. */
  depth: number;
  /** How often each label was taken, without what stands after a colon. */
  taken: Map<string, number>;
  violation: Violation | undefined;
}

/**
 * Visits every state breadth first. Beside the invariants it checks that work ends: where neither users nor faults do
 * anything, no state with work left is without a step, and no steps lead in a circle. Faults are limited in number, so every
 * endless run of the system would end in such a circle.
 */
export function explore<State>(model: Model<State>): Exploration {
  const known = new Map<string, number>([[model.encode(model.start), 0]]);
  const parents = [-1];
  const labels = [''];
  const from: number[] = [];
  const to: number[] = [];
  const taken = new Map<string, number>();
  let steps = 0;
  let depth = 0;
  let level: [number, State][] = [[0, model.start]];

  function traceOf(index: number): string[] {
    const trace: string[] = [];
    for (let at = index; at > 0; at = parents[at] as number) trace.unshift(labels[at] as string);
    return trace;
  }
  const result = (violation?: Violation): Exploration => ({ states: known.size, steps, depth, taken, violation });
  const broken = (what: string, index: number) => result({ what, trace: traceOf(index) });

  const violation = model.findViolation(model.start);
  if (violation !== undefined) return broken(violation, 0);
  while (level.length > 0) {
    const next: [number, State][] = [];
    for (const [index, state] of level) {
      let canMove = false;
      for (const { label, state: after, by } of model.steps(state)) {
        steps += 1;
        const name = label.replace(/:.*/, '');
        taken.set(name, (taken.get(name) ?? 0) + 1);
        const key = model.encode(after);
        let found = known.get(key);
        if (found === undefined) {
          found = parents.push(index) - 1;
          labels.push(label);
          known.set(key, found);
          const violated = model.findViolation(after);
          if (violated !== undefined) return broken(violated, found);
          next.push([found, after]);
        }
        if (by !== 'system' || found === index) continue;
        canMove = true;
        from.push(index);
        to.push(found);
      }
      if (!canMove && !model.isDone(state)) return broken('work is left that nothing does', index);
    }
    if (next.length > 0) depth += 1;
    level = next;
  }
  const circle = findCircle(known.size, from, to);
  return circle === undefined ? result() : broken('work never ends: from here steps lead in a circle', circle);
}

/** The first state on a circle: what is left once states that nothing leads to are taken away, one after the other, from both ends. */
function findCircle(size: number, from: number[], to: number[]): number | undefined {
  const isLeft = new Uint8Array(size).fill(1);
  for (const [sources, targets] of [
    [from, to],
    [to, from],
  ] as const) {
    const degree = new Uint32Array(size);
    const first = new Uint32Array(size + 1);
    for (const source of sources) first[source + 1] = (first[source + 1] as number) + 1;
    for (let at = 0; at < size; at += 1) first[at + 1] = (first[at + 1] as number) + (first[at] as number);
    const place = first.slice();
    const ends = new Uint32Array(sources.length);
    for (let edge = 0; edge < sources.length; edge += 1) {
      const [source, target] = [sources[edge] as number, targets[edge] as number];
      if (isLeft[source] === 0 || isLeft[target] === 0) continue;
      degree[target] = (degree[target] as number) + 1;
      ends[place[source] as number] = target;
      place[source] = (place[source] as number) + 1;
    }
    const free: number[] = [];
    for (let at = 0; at < size; at += 1) if (isLeft[at] === 1 && degree[at] === 0) free.push(at);
    for (let at = free.pop(); at !== undefined; at = free.pop()) {
      isLeft[at] = 0;
      for (let edge = first[at] as number; edge < (place[at] as number); edge += 1) {
        const target = ends[edge] as number;
        degree[target] = (degree[target] as number) - 1;
        if (degree[target] === 0) free.push(target);
      }
    }
  }
  const circle = isLeft.indexOf(1);
  return circle < 0 ? undefined : circle;
}
