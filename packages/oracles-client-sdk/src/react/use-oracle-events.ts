'use client';

import { useEffect } from 'react';
import type { AnyEvent } from '../core/wire.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useLatest } from './use-latest.ts';

/** Calls back with every event of the chats on the page, distinguished by `eventName`. */
export function useOracleEvents(onEvent: (event: AnyEvent, sessionId: string) => void): void {
  const { events } = useOraclesContext();
  const latest = useLatest(onEvent);
  useEffect(() => {
    const listener = (event: AnyEvent, sessionId: string) => latest.current(event, sessionId);
    events.add(listener);
    return () => void events.delete(listener);
  }, [events, latest]);
}
