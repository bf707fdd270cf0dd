import type { FormHint } from '@palaver/program/internal';

interface Node {
  nodeType: string;
  currentState: { children: readonly Node[] | null };
  definition: Definition;
}

export interface Definition {
  type: string;
  children: readonly Definition[] | null;
}

export const maxInstances = 200;
/** Groups, questions and calculations in all repeats of a form together: each takes the engine about 0.2 ms. */
const maxNodes = 2_000;
/** How long an input may compute, and a form that still takes more instances to be built: long lists and sums take longer than nodes. */
const maxComputingMs = 1_200;
const javarosa = 'http://openrosa.org/javarosa';

/** An answer that is refused after the engine has already changed the instance. */
export class RefusedAnswer extends Error {
  override readonly name = 'RefusedAnswer';
  readonly hint: FormHint;

  constructor(hint: FormHint, message = 'an answer is refused') {
    super(message);
    this.hint = hint;
  }
}

/** An accepted answer that changes the number of instances: the form is built again with it. */
export class RepeatsChanged extends Error {
  override readonly name = 'RepeatsChanged';
}

interface Range extends Node {
  addChildren(after: number, nodes: readonly unknown[]): unknown;
  removeChildren(start: number, count: number): unknown;
}

let room = maxNodes;
/** When expressions must end, in the processor time of this thread. */
let until = Number.POSITIVE_INFINITY;
let isGrown = false;
/** Why the engine must stop. It may try several times before it gives up. */
let refused: RefusedAnswer | undefined;
let isOutOfTime = false;
/** The changes to repeats that the engine attempts while an answer is checked. */
let held: Held | undefined;
/** Off when the form has just been built with the answer. */
let isHolding = true;

interface Held {
  changes: number;
  made: number;
  isTooLong: boolean;
}

/** How long this thread has computed; before Node 23.9 that cannot be measured, and the clock counts. */
export function computedMs(): number {
  if (!('threadCpuUsage' in process)) return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

export function liftLimits(): void {
  room = maxNodes;
  until = Number.POSITIVE_INFINITY;
  refused = undefined;
}

/** For an input to a form that took `builtMs` to be built; with `sliceMs` it is stopped earlier, and may be tried again. */
export function limitInput(root: Node, builtMs: number, sliceMs: number = maxComputingMs): void {
  room = builtMs > maxComputingMs ? 0 : maxNodes - countMade(root);
  until = computedMs() + Math.min(sliceMs, maxComputingMs);
  isOutOfTime = false;
  isGrown = false;
  isHolding = true;
}

export function limitBuilding(): void {
  room = maxNodes;
  isHolding = false;
}

/** The engine may hide a refusal in an error of its own, or throw none. */
export const findRefusal = () => refused;
export const tookTooLong = () => isOutOfTime;
export const hasGrown = () => isGrown;

function countMade({ nodeType, currentState, definition }: Node): number {
  const children = currentState.children ?? [];
  const own = nodeType.startsWith('repeat-range') ? children.length * countNodes(definition) : 0;
  return children.reduce((sum, child) => sum + countMade(child), own);
}

/** The nodes of one instance, without those of the repeats in it. */
function countNodes({ children }: Definition): number {
  return (children ?? []).reduce((sum, child) => sum + (child.type === 'repeat' ? 1 : countNodes(child)), 1);
}

/** Checks an answer before its instances change. The engine makes them right only as it builds, so the form is built again. */
export function holdInstances(change: () => void): { hasChanges: boolean; refuseTooMany(): void } {
  const own: Held = { changes: 0, made: 0, isTooLong: false };
  if (isHolding) held = own;
  try {
    change();
  } finally {
    held = undefined;
  }
  return {
    hasChanges: own.changes > 0,
    refuseTooMany() {
      if (own.isTooLong) throw tooLong();
      if (own.made > room) throw full();
    },
  };
}

function tooLong(): RefusedAnswer {
  const values = { 'question.min': '0', 'question.max': String(maxInstances) };
  return new RefusedAnswer({ key: 'hint.range', values }, `a repeat has more than ${maxInstances} instances`);
}

function full(): RefusedAnswer {
  return new RefusedAnswer({ key: 'form.full' }, `its repeats have more than ${maxNodes} questions`);
}

interface Evaluator {
  evaluate(...expression: unknown[]): unknown;
}

/** Puts the limit of time into the engine: every expression is computed by this method. */
export function limitExpressions(evaluator: Evaluator): void {
  const methods = findMethods<Evaluator>(evaluator, 'evaluate');
  const { evaluate } = methods;
  methods.evaluate = function (...expression) {
    if (until < Number.POSITIVE_INFINITY && (refused || computedMs() > until)) {
      isOutOfTime ||= !refused;
      refused ??= full();
      throw refused;
    }
    return evaluate.apply(this, expression);
  };
}

/** Puts the limits into the engine: all instances of a repeat are made and removed by two methods of its class. */
export function limitRepeats(range: Node): void {
  const methods = findMethods<Range>(range, 'addChildren');
  const { addChildren, removeChildren } = methods;
  methods.addChildren = function (after, nodes) {
    const isTooLong = (this.currentState.children?.length ?? 0) + nodes.length > maxInstances;
    const made = nodes.length * countNodes(this.definition);
    if (held) {
      held.changes++;
      held.made += made;
      held.isTooLong ||= isTooLong;
      return [];
    }
    room -= made;
    if (isTooLong || room < 0) refused ??= isTooLong ? tooLong() : full();
    if (refused) throw refused;
    isGrown = true;
    return addChildren.call(this, after, nodes);
  };
  methods.removeChildren = function (start, count) {
    if (held) {
      held.changes++;
      return [];
    }
    return removeChildren.call(this, start, count);
  };
}

function findMethods<Methods extends object>(object: Methods | Node, name: keyof Methods): Methods {
  let type = Object.getPrototypeOf(object) as object | null;
  while (type && !Object.hasOwn(type, name)) type = Object.getPrototypeOf(type) as object | null;
  if (!type) throw new Error('this version of @getodk/xforms-engine cannot be limited');
  return type as Methods;
}

interface CountedElement {
  getAttributeNS(namespace: string | null, name: string): string | null;
}

/** The engine makes a list as long as a count before it makes the first instance: no count is longer than the limit and one. */
export function limitCounts(element: CountedElement): void {
  const { getAttributeNS } = element;
  element.getAttributeNS = function (namespace, name) {
    const value = getAttributeNS.call(this, namespace, name);
    if (value === null || namespace !== javarosa || name !== 'count') return value;
    const most = maxInstances + 1;
    return /^\s*\d+\s*$/.test(value)
      ? String(Math.min(Number(value), most))
      : `if((${value}) > ${most}, ${most}, ${value})`;
  };
}

export const formWithRepeat = `<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml">
<h:head><h:title/><model><instance><data id="repeats"><each><name/></each></data></instance><bind nodeset="/data/each/name"/></model></h:head>
<h:body><group ref="/data/each"><repeat nodeset="/data/each"><input ref="/data/each/name"><label/></input></repeat></group></h:body>
</h:html>`;
