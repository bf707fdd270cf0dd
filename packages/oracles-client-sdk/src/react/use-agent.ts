'use client';

import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { createAgentApi } from '../core/agent-api.ts';
import type { ConfigOverrides, OracleConfig } from '../core/oracle-config.ts';
import { OracleError } from '../core/oracle-error.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useLatest, useLoad } from './use-load.ts';

export const notReady = () =>
  new OracleError('The agent is not ready yet.', { code: 'ORACLE_NOT_READY', retryable: true });

export function useAgent(oracleDid?: string, overrides?: ConfigOverrides) {
  const { createTransport, wallet } = useOraclesContext();
  const did = useOracleDid(oracleDid);
  const { config, isReady, isLoading, error, refetch } = useOraclesConfig(did, overrides);
  const agent = useMemo(() => {
    if (!isReady || !did || !wallet.did) return undefined;
    const known = config as OracleConfig;
    const transport = createTransport(did, known.apiUrl);
    const key = `${wallet.did} ${did} ${known.apiUrl}`;
    return { key, did, config: known, transport, api: createAgentApi(transport) };
  }, [config, isReady, did, createTransport, wallet.did]);
  const latest = useLatest({ agent, error, isLoading });
  const waiting = useRef(new Set<() => void>());
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever waits looks again after each of these changes.
  useEffect(() => {
    for (const look of waiting.current) look();
  }, [agent, error, isLoading]);
  /** What a user asks for while the agent is looked up is done once it is found. */
  const whenReady = useCallback(async () => {
    for (;;) {
      const { agent: found, error: fault, isLoading: isLooking } = latest.current;
      if (found) return found;
      if (fault || !isLooking) throw fault ?? notReady();
      await new Promise<void>((resolve) => {
        const look = () => {
          waiting.current.delete(look);
          resolve();
        };
        waiting.current.add(look);
      });
    }
  }, [latest]);
  return { agent, error, refetch, whenReady };
}

export type OraclesConfigResult = ReturnType<typeof useOraclesConfig>;

const unknown: Partial<OracleConfig> = {};
const noAgent = new OracleError('No agent: give oracleDid to the hook or to OraclesProvider.', {
  code: 'ORACLE_MISSING',
});

/** What is publicly known about an agent: where it is, its model, its price. */
export function useOraclesConfig(oracleDid?: string, overrides?: ConfigOverrides) {
  const context = useOraclesContext();
  const did = useOracleDid(oracleDid);
  // The provider's addresses are those of its own agent.
  const own = did === context.oracleDid ? context.overrides : undefined;
  const baseUrl = overrides?.baseUrl ?? own?.baseUrl;
  const wsUrl = overrides?.wsUrl ?? own?.wsUrl;
  const key = did && !baseUrl ? `${context.gatewayUrl ?? ''} ${did}` : undefined;
  const { data, error, isLoading, reload } = useLoad(key, () => context.resolveConfig(did ?? ''));
  const config = useMemo<OracleConfig | undefined>(() => {
    if (baseUrl) return { apiUrl: baseUrl, socketUrl: wsUrl ?? baseUrl };
    return data && { ...data, socketUrl: wsUrl ?? data.socketUrl };
  }, [baseUrl, wsUrl, data]);
  const fault = error ?? (did ? undefined : noAgent);
  const refetch = useCallback(async () => void (await reload()), [reload]);
  const isReady = config !== undefined;
  return {
    /** Without addresses until `isReady`. */
    config: config ?? unknown,
    isLoading: isLoading && !isReady,
    isReady,
    error: fault,
    refetch,
  };
}

/** The agent of a hook: the one it is given, else the provider's, else the only one that the page uses. */
function useOracleDid(given: string | undefined): string | undefined {
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
