import { z } from 'zod';
import { keywordOf } from '../actions/actions.ts';
import { findFields, type UsedField } from '../actions/keyword.ts';
import type { Registry, State } from '../model/menu.ts';
import { action } from './action.ts';
import { branch } from './branch.ts';
import { call } from './call.ts';
import { each } from './each.ts';
import { end } from './end.ts';
import { form } from './form.ts';
import type { Kind, Target } from './kind.ts';
import { menu } from './menu.ts';
import { page } from './page.ts';
import { prompt } from './prompt.ts';
import { back } from './return.ts';
import { set } from './set.ts';

/** The kinds of states. A new one is a file beside this one and a line here. */
export const kinds = { menu, prompt, page, action, end, branch, set, call, return: back, form, each };

const schemas: readonly z.ZodType[] = Object.values(kinds).map(({ schema }) => schema);
type ByKind = { [Name in keyof typeof kinds]: z.output<(typeof kinds)[Name]['schema']> };

declare module '../model/menu.ts' {
  interface StateKinds extends ByKind {}
}

export const stateSchema: z.ZodType<State> = z.discriminatedUnion('kind', schemas as never);

export const kindOf = (state: State) => kinds[state.kind] as Kind<State>;

const fieldsOf = (state: State): UsedField[] => {
  if (state.kind === 'action') return state.spec ? [...findFields(keywordOf(state.action).schema, state.spec)] : [];
  return [...findFields(kindOf(state).schema, 'question' in state ? { ...state, ...state.question } : state)];
};

export const expressionsOf = (state: State): UsedField[] =>
  fieldsOf(state).filter(({ holds, value, named }) => holds === 'expression' && !named?.includes(value));

export function textsOf(state: State, registry: Registry): { key: string; path: PropertyKey[] }[] {
  const named = fieldsOf(state).filter(({ holds }) => holds === 'text');
  return [...named.map(({ value, path }) => ({ key: value, path })), ...(kindOf(state).texts?.(state, registry) ?? [])];
}

export const targetsOf = (state: State): Target[] => kindOf(state).targets(state);

export const nextOf = (state: State | undefined): string[] => (state ? targetsOf(state).map(({ to }) => to) : []);

export function reach(from: Iterable<string>, next: (name: string) => Iterable<string>): Set<string> {
  const reached = new Set(from);
  // The loop over a set includes what is added to it meanwhile.
  for (const name of reached) for (const to of next(name)) reached.add(to);
  return reached;
}

export const isQuestion = (state: State | undefined) => (state && kindOf(state).isQuestion?.(state)) ?? false;

export function requiresLogin(state: State | undefined): boolean {
  return state !== undefined && 'requires' in state && state.requires === 'authenticated';
}
