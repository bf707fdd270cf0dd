import { useSyncExternalStore } from 'react';

const changed = 'palaver:navigate';
const subscribe = onEvents('popstate', changed);

export function useLocation(): URL {
  return new URL(useSyncExternalStore(subscribe, () => window.location.href));
}

export function navigate(to: string): void {
  if (to === window.location.pathname + window.location.search) return;
  window.history.pushState(null, '', to);
  window.dispatchEvent(new Event(changed));
}

/** The `subscribe` of `useSyncExternalStore` for events of the window. */
export function onEvents(...names: string[]) {
  return (notify: () => void) => {
    for (const name of names) window.addEventListener(name, notify);
    return () => {
      for (const name of names) window.removeEventListener(name, notify);
    };
  };
}

/** What is beside the content elsewhere is below it. */
export const isNarrow = () => window.matchMedia('(max-width: 45rem)').matches;
