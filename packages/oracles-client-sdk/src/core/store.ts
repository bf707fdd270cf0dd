export function createStore<State>(initial: State) {
  let state = initial;
  const listeners = new Set<(state: State) => void>();
  return {
    get: () => state,
    set(next: State): void {
      if (Object.is(next, state)) return;
      state = next;
      for (const listener of [...listeners]) listener(state);
    },
    subscribe(listener: (state: State) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
