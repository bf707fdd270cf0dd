'use client';

import { useCallback, useMemo } from 'react';
import type { ConfigOverrides, OracleConfig } from '../core/oracle-config.ts';
import { OracleError } from '../core/oracle-error.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useLoad } from './use-load.ts';
import { useOracleDid } from './use-oracle-did.ts';

export interface OraclesConfigResult {
  /** Without addresses until `isReady`. */
  config: Partial<OracleConfig>;
  isLoading: boolean;
  isReady: boolean;
  error: OracleError | undefined;
  /** Looks the agent up again, after an error. */
  refetch: () => Promise<void>;
}

const unknown: Partial<OracleConfig> = {};

/** What is publicly known about an agent: where it is, its model, its price. */
export function useOraclesConfig(oracleDid?: string, overrides?: ConfigOverrides): OraclesConfigResult {
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
  const missing = useMemo(
    () =>
      did
        ? undefined
        : new OracleError('No agent: give oracleDid to the hook or to OraclesProvider.', { code: 'ORACLE_MISSING' }),
    [did],
  );
  const refetch = useCallback(async () => void (await reload()), [reload]);
  const isReady = config !== undefined;
  return { config: config ?? unknown, isLoading: isLoading && !isReady, isReady, error: error ?? missing, refetch };
}
