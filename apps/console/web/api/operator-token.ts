import { useSyncExternalStore } from 'react';

// Kept for the life of the tab only: it opens every operators' route.
const key = 'palaver.operator-token';
const listeners = new Set<() => void>();

export function readOperatorToken(): string {
  return sessionStorage.getItem(key) ?? '';
}

export function keepOperatorToken(token: string): void {
  if (token) sessionStorage.setItem(key, token);
  else sessionStorage.removeItem(key);
  for (const notify of listeners) notify();
}

/** The token entered in this tab; part of the key of every operators' query, so that they are asked again with a new one. */
export function useOperatorToken(): string {
  return useSyncExternalStore((notify) => {
    listeners.add(notify);
    return () => listeners.delete(notify);
  }, readOperatorToken);
}
