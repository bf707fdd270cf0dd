import type { FormHint } from './protocol.ts';

/** What is used here of a node of a form. */
interface Node {
  nodeType: string;
  currentState: { children: readonly Node[] | null };
}

/** A repeat that has this many instances takes no more. */
export const maxInstances = 200;
/** Of all repeats of a form together, those inside others included: each takes the engine milliseconds. */
const maxAllInstances = 500;
const javarosa = 'http://openrosa.org/javarosa';

/** An answer that cannot be taken, after the engine has changed its instance for it. */
export class RefusedAnswer extends Error {
  override readonly name = 'RefusedAnswer';
  readonly hint: FormHint;

  constructor(hint: FormHint, message = 'an answer is refused') {
    super(message);
    this.hint = hint;
  }
}

/** An answer that is taken, and changes how many instances there are: the form is built again with it. */
export class RepeatsChanged extends Error {
  override readonly name = 'RepeatsChanged';
}

/** The part of the engine's repeats that makes and removes instances. */
interface Range extends Node {
  addChildren(after: number, nodes: readonly unknown[]): unknown;
  removeChildren(start: number, count: number): unknown;
}

/** How many instances may still be made. */
let room = maxAllInstances;
/** Why none may be made any longer: the engine may try again before it gives up. */
let refused: RefusedAnswer | undefined;
/** What the engine wants to do to repeats while an answer is looked at. */
let held: Held | undefined;
/** Not where the form has just been built with the answer. */
let isHolding = true;

interface Held {
  changes: number;
  made: number;
  /** One repeat alone has too many. */
  isTooLong: boolean;
}

/** Leaves room for as many more instances as a form may have, or for all of a form that is begun or restored. */
export function limitInstances(root?: Node, { hasAnswer = false } = {}): void {
  room = maxAllInstances - (root ? countInstances(root) : 0);
  refused = undefined;
  isHolding = !hasAnswer;
}

/** Why the engine could not make the instances: it may say so in an error of its own. */
export function refusalOf(error: unknown): unknown {
  return refused ?? error;
}

function countInstances({ nodeType, currentState }: Node): number {
  const children = currentState.children ?? [];
  const own = nodeType.startsWith('repeat-range') ? children.length : 0;
  return children.reduce((sum, child) => sum + countInstances(child), own);
}

/**
 * Runs a change without the instances that it makes and removes, so that an answer can be checked first. The engine
 * makes them right only in the course of the change, so the form is built again for them.
 */
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
      if (own.made > room) throw tooMany();
    },
  };
}

function tooLong(): RefusedAnswer {
  const values = { 'question.min': '0', 'question.max': String(maxInstances) };
  return new RefusedAnswer({ key: 'hint.range', values }, `a repeat has more than ${maxInstances} instances`);
}

function tooMany(): RefusedAnswer {
  return new RefusedAnswer({ key: 'form.refused' }, `its repeats have more than ${maxAllInstances} instances`);
}

/** Puts the limits into the engine: all instances of a repeat are made and removed by two methods of its class. */
export function limitRepeats(range: Node): void {
  const methods = findMethods(range);
  const { addChildren, removeChildren } = methods;
  methods.addChildren = function (after, nodes) {
    const isTooLong = (this.currentState.children?.length ?? 0) + nodes.length > maxInstances;
    if (held) {
      held.changes++;
      held.made += nodes.length;
      held.isTooLong ||= isTooLong;
      return [];
    }
    room -= nodes.length;
    if (isTooLong || room < 0) refused ??= isTooLong ? tooLong() : tooMany();
    if (refused) throw refused;
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

function findMethods(range: Node): Range {
  let type = Object.getPrototypeOf(range) as object | null;
  while (type && !Object.hasOwn(type, 'addChildren')) type = Object.getPrototypeOf(type) as object | null;
  if (!type) throw new Error('the repeats of this version of @getodk/xforms-engine cannot be limited');
  return type as Range;
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

/** A form with a repeat, by which the engine's class of repeats is found. */
export const formWithRepeat = `<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml">
<h:head><h:title/><model><instance><data id="repeats"><each><name/></each></data></instance><bind nodeset="/data/each/name"/></model></h:head>
<h:body><group ref="/data/each"><repeat nodeset="/data/each"><input ref="/data/each/name"><label/></input></repeat></group></h:body>
</h:html>`;
