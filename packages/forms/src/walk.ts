import type { FormNode } from './xforms.ts';

/** A place in a form where the caller is asked or shown something, in the order of the form. */
export interface Stop {
  kind: 'question' | 'another' | 'send';
  at: string;
  node: FormNode;
  /** The groups and repeat instances that begin with it, the outermost first. */
  sections: readonly FormNode[];
  instances: readonly RepeatInstance[];
}

export interface RepeatInstance {
  range: FormNode;
  index: number;
}

export const sendStop = '/';
const repeatRanges = ['repeat-range:controlled', 'repeat-range:uncontrolled'];
const questions = ['input', 'select', 'rank', 'range', 'trigger', 'note'];
/** What a keypad cannot answer; such questions are skipped, and refused on load where they are required. */
export const unanswerable = ['geopoint', 'geotrace', 'geoshape', 'binary', 'intent'];

export function stopsOf(root: FormNode): Stop[] {
  const stops: Stop[] = [];
  let sections: FormNode[] = [];
  const visit = (node: FormNode, instances: readonly RepeatInstance[]): void => {
    const { relevant, reference, children } = node.currentState;
    if (!relevant) return;
    const add = (kind: Stop['kind'], at: string) => {
      stops.push({ kind, at, node, sections, instances });
      sections = [];
    };
    if (questions.includes(node.nodeType)) {
      if (isAnswerable(node)) add('question', reference);
      return;
    }
    const before = sections;
    if (node.nodeType === 'group') sections = [...sections, node];
    for (const [index, child] of (children ?? []).entries()) {
      const isInstance = repeatRanges.includes(node.nodeType);
      if (isInstance) sections = [...before, child];
      visit(child, isInstance ? [...instances, { range: node, index }] : instances);
    }
    // A group without a question leaves no title behind.
    if (sections.length > before.length) sections = before;
    if (node.nodeType === 'repeat-range:uncontrolled') add('another', `${reference}+`);
  };
  visit(root, []);
  stops.push({ kind: 'send', at: sendStop, node: root, sections: [], instances: [] });
  return stops;
}

function isAnswerable(node: FormNode): boolean {
  const { required, valueOptions } = node.currentState;
  if (node.nodeType === 'select' || node.nodeType === 'rank') {
    // The head of a table repeats the choices of the questions below it. What must be answered blocks the form: it is shown.
    return required || ((valueOptions?.length ?? 0) > 0 && !node.appearances?.label);
  }
  return !unanswerable.includes(node.valueType ?? '');
}

export function isBlank(node: FormNode): boolean {
  const { children, value } = node.currentState;
  if (children) return children.every(isBlank);
  if (!questions.includes(node.nodeType) || node.nodeType === 'note') return true;
  return Array.isArray(value) ? value.length === 0 : value === null || value === '' || value === false;
}

/** Whether a question, such as /data/head/photo, is meant by a name or the end of a path. */
export function isPathOf(question: string | undefined, path: string): boolean {
  return question?.replace(/\[\d+\]/g, '').endsWith(`/${path.replace(/^\//, '')}`) ?? false;
}
