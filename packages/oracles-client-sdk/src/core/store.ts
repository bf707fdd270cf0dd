/** A value that tells when it changes: what `useSyncExternalStore` and plain pages listen to. */
export interface Store<State> {
  get(): State;
  set(next: State): void;
  /** Calls back after every change; returns the way to stop. */
  subscribe(listener: () => void): () => void;
}

export function createStore<State>(initial: State): Store<State> {
  let state = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => state,
    set(next) {
      if (Object.is(next, state)) return;
      state = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
