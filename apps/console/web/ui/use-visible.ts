import { useSyncExternalStore } from 'react';

/** Whether somebody can see the page: hidden pages ask nothing. */
export function useVisible(): boolean {
  return useSyncExternalStore(subscribe, () => !document.hidden);
}

function subscribe(notify: () => void): () => void {
  document.addEventListener('visibilitychange', notify);
  return () => document.removeEventListener('visibilitychange', notify);
}
