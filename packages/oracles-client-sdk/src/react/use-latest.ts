'use client';

import { type RefObject, useInsertionEffect, useRef } from 'react';

/** A reference to the value of the latest render, for functions that are called later and must not be stale. */
export function useLatest<T>(value: T): RefObject<T> {
  const latest = useRef(value);
  useInsertionEffect(() => {
    latest.current = value;
  });
  return latest;
}
