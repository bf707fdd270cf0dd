import type { FormHint, FormScreen } from '@palaver/program/internal';
import { searchAbove, toChoiceKey, toSearchable } from '@palaver/program/keys';
import { canKeep, forbids, readAnswer, screenTypeOf } from './answers.ts';
import type { Stop } from './walk.ts';
import type { FormItem, FormNode, FormText } from './xforms.ts';

/** Of a longer list the first are shown; the others are found by typing. */
const maxShown = 100;

export interface ScreenOptions {
  search?: string | undefined;
  hint?: FormHint | undefined;
}

/** What a stop of a form shows. */
export function toScreen(stop: Stop, { search, hint }: ScreenOptions): FormScreen {
  const { kind, node } = stop;
  const added = { ...(hint && { hint }) };
  if (kind === 'send') return { type: 'send', body: '', ...added };
  if (kind === 'another') {
    const { label, children } = node.currentState;
    return { type: 'another', body: toPlain(label), count: children?.length ?? 0, ...added };
  }
  const type = screenTypeOf(node);
  const { label, hint: help, required } = node.currentState;
  const screen: FormScreen = { type, body: joinLines([...titlesOf(stop), toPlain(label), toPlain(help)]), ...added };
  if (type === 'note') return forbids(node) ? { ...screen, hint: { key: 'form.blocked' } } : screen;
  if (!required) screen.optional = true;
  const options = node.currentState.valueOptions;
  if (canKeep(node)) screen.answer = toAnswerText(node);
  if (!options) return screen;
  if (options.length === 0) screen.hint = { key: 'form.noChoices' };
  const wanted = toSearchable(search ?? '');
  const all = options.map((option, i) => ({ key: toChoiceKey(i), label: toLabel(option) }));
  screen.options = all.filter((option) => toSearchable(option.label).includes(wanted)).slice(0, maxShown);
  if (all.length > searchAbove) screen.isLong = true;
  return screen;
}

/** Whether anything that can be chosen is named like this. */
export function hasMatch(node: FormNode, search: string): boolean {
  const wanted = toSearchable(search);
  return (node.currentState.valueOptions ?? []).some((option) => toSearchable(toLabel(option)).includes(wanted));
}

/** The titles of the groups that begin here; an instance of a repeat has its number. */
function titlesOf({ sections, instances }: Stop): string[] {
  return sections.flatMap((section) => {
    const instance = instances.find(({ range, index }) => range.currentState.children?.[index] === section);
    const title = toPlain(section.currentState.label ?? instance?.range.currentState.label ?? null);
    if (!instance) return title === '' ? [] : [title];
    return [`${title} ${instance.index + 1}`.trim()];
  });
}

function toAnswerText(node: FormNode): string {
  const options = node.currentState.valueOptions;
  const values = readAnswer(node);
  if (!options) return values.join(' ').replace(/:00\.000.*$/, '');
  const chosen = values.flatMap((value) => options.find((option) => option.value === value) ?? []);
  return chosen.map(toLabel).join(', ');
}

/** A choice that is a picture has no text: its value is shown. */
function toLabel({ label, value }: FormItem): string {
  return toPlain(label) || value;
}

/** Without the marks of Markdown and HTML that labels may have. */
function toPlain(text: FormText | null): string {
  return (text?.asString ?? '')
    .replace(/<\/?[a-z][^>]*>/gi, '')
    .replace(/^#{1,6}\s+/gm, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\*\*|__/g, '')
    .trim();
}

function joinLines(lines: string[]): string {
  return lines.filter((line) => line !== '').join('\n');
}
