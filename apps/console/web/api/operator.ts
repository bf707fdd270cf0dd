import { type UseQueryOptions, useQuery } from '@tanstack/react-query';
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

/** The token entered in this tab. */
export function useOperatorToken(): string {
  return useSyncExternalStore((notify) => {
    listeners.add(notify);
    return () => listeners.delete(notify);
  }, readOperatorToken);
}

/** A query of operators' routes: the token is part of its key, so that it is asked again with a new one. */
export function useOperatorQuery<Data>({ queryKey, ...options }: UseQueryOptions<Data>) {
  return useQuery({ ...options, queryKey: [...queryKey, useOperatorToken()] });
}
