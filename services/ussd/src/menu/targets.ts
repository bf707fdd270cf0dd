import type { State } from './menu.ts';

export interface Target {
  to: string;
  label: string;
  path: PropertyKey[];
}

/** Where a state leads. */
export function targetsOf(state: State): Target[] {
  const at = (field: 'to' | 'flow' | 'do', to: string): Target => ({ to, label: field, path: [field] });
  switch (state.kind) {
    case 'prompt':
      return [{ to: state.to, label: state.save, path: ['to'] }];
    case 'action':
      return Object.entries(state.outcomes).map(([label, { to }]) => ({ to, label, path: ['outcomes', label] }));
    case 'branch':
      return [
        ...state.when.map(({ that, to }, i) => ({ to, label: that, path: ['when', i, 'to'] })),
        { to: state.else, label: 'else', path: ['else'] },
      ];
    case 'set':
    case 'form':
      return [at('to', state.to)];
    case 'call':
      return [at('flow', state.flow), at('to', state.to)];
    case 'each':
      return [at('do', state.do), at('to', state.to)];
    case 'end':
    case 'return':
      return [];
    default:
      if (state.kind === 'menu' && state.to !== undefined) return [at('to', state.to)];
      return state.options.map(({ to, key }, i) => ({ to, label: key, path: ['options', i, 'to'] }));
  }
}
