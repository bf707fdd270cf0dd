'use client';

import { type RefObject, useCallback, useEffect, useInsertionEffect, useRef, useState } from 'react';
import { type OracleError, toError } from '../core/oracle-error.ts';

interface State<T> {
  key: string | undefined;
  data?: T;
  error?: OracleError;
  isLoading: boolean;
}

const retryMs = 5_000;

/** Loads something when `key` appears or changes, never without one. An answer to an older key is ignored. */
export function useLoad<T>(key: string | undefined, load: () => Promise<T>) {
  const [state, setState] = useState<State<T>>({ key, isLoading: key !== undefined });
  const latest = useLatest({ load, key });
  const changes = useRef(0);
  const requests = useRef({ begun: 0, shown: 0 });

  const reload = useCallback(async (): Promise<T | undefined> => {
    const { key: asked } = latest.current;
    if (asked === undefined) return undefined;
    requests.current.begun += 1;
    const number = requests.current.begun;
    const settle = (next: Partial<State<T>>) => {
      // A reply to an earlier request may arrive after that to a later one.
      if (latest.current.key !== asked || number < requests.current.shown) return;
      requests.current.shown = number;
      setState((known) => ({ ...(known.key === asked ? known : { key: asked }), ...next, isLoading: false }));
    };
    setState((known) => (known.key === asked ? { ...known, isLoading: true } : { key: asked, isLoading: true }));
    try {
      let data: T;
      let before: number;
      // What was changed here while it was on its way, it does not hold yet.
      do {
        before = changes.current;
        data = await latest.current.load();
      } while (changes.current !== before && latest.current.key === asked);
      settle({ data, error: undefined } as Partial<State<T>>);
      return data;
    } catch (error) {
      settle({ error: toError(error) });
      return undefined;
    }
  }, [latest]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when; `reload` reads it from `latest`.
  useEffect(() => {
    void reload();
  }, [key, reload]);

  // What could not be reached is asked for again, for as long as it is shown.
  const { error } = state;
  useEffect(() => {
    if (!error?.retryable) return;
    const timer = setTimeout(() => void reload(), Math.max(retryMs, error.retryAfterMs ?? 0));
    return () => clearTimeout(timer);
  }, [error, reload]);

  const update = useCallback((change: (data: T) => T) => {
    changes.current += 1;
    setState((known) => (known.data === undefined ? known : { ...known, data: change(known.data) }));
  }, []);

  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: isCurrent ? state.isLoading : key !== undefined,
    reload,
    update,
  };
}

export function useLatest<T>(value: T): RefObject<T> {
  const latest = useRef(value);
  useInsertionEffect(() => {
    latest.current = value;
  });
  return latest;
}
