import { type UseQueryOptions, useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

// Kept only as long as the tab, because it opens every operators' route.
const key = 'palaver.operator-token';
const listeners = new Set<() => void>();

export const readOperatorToken = (): string => sessionStorage.getItem(key) ?? '';

export function keepOperatorToken(token: string): void {
  if (token) sessionStorage.setItem(key, token);
  else sessionStorage.removeItem(key);
  for (const notify of listeners) notify();
}

export function useOperatorToken(): string {
  return useSyncExternalStore((notify) => {
    listeners.add(notify);
    return () => listeners.delete(notify);
  }, readOperatorToken);
}

/** The token is part of the key, so that a new one asks again. */
export function useOperatorQuery<Data>({ queryKey, ...options }: UseQueryOptions<Data>) {
  return useQuery({ ...options, queryKey: [...queryKey, useOperatorToken()] });
}
