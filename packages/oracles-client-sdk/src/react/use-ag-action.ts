'use client';

import { useEffect } from 'react';
import type { Schema } from '../core/schema.ts';
import type { AgActionOptions } from './action-registry.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useLatest } from './use-latest.ts';

/** Registers an action the agent can call for as long as the component is on the page. */
export function useAgAction<S extends Schema>(options: AgActionOptions<S>): void {
  const { actions } = useOraclesContext();
  const latest = useLatest(options as unknown as AgActionOptions);
  const { name, render } = options;
  useEffect(() => actions.add(name, latest), [actions, name, latest]);
  // What is drawn closes over the state of this component: a new closure is a new picture.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new `render` is the reason, not an input.
  useEffect(() => actions.touch(), [actions, render]);
}
