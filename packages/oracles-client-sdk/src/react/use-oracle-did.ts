'use client';

import { useEffect, useSyncExternalStore } from 'react';
import { useOraclesContext } from './oracles-context.ts';

/** The agent of a hook: the one it is given, else the provider's, else the only one that the page uses. */
export function useOracleDid(given: string | undefined): string | undefined {
  const { oracleDid, agents } = useOraclesContext();
  useEffect(() => {
    if (!given) return;
    agents.set([...agents.get(), given]);
    return () => {
      const at = agents.get().indexOf(given);
      agents.set(agents.get().filter((_, index) => index !== at));
    };
  }, [given, agents]);
  const [only, ...others] = new Set(useSyncExternalStore(agents.subscribe, agents.get, agents.get));
  return given ?? oracleDid ?? (others.length > 0 ? undefined : only);
}
