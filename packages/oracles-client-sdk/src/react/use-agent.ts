'use client';

import { useCallback, useEffect, useMemo, useRef } from 'react';
import { type AgentApi, createAgentApi } from '../core/agent-api.ts';
import type { ConfigOverrides, OracleConfig } from '../core/oracle-config.ts';
import { OracleError } from '../core/oracle-error.ts';
import type { Transport } from '../core/transport.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useLatest } from './use-latest.ts';
import { useOracleDid } from './use-oracle-did.ts';
import { useOraclesConfig } from './use-oracles-config.ts';

export interface Agent {
  /** Names this agent and this user: a key for what is loaded from it. */
  key: string;
  did: string;
  config: OracleConfig;
  transport: Transport;
  api: AgentApi;
}

export interface AgentResult {
  agent: Agent | undefined;
  error: OracleError | undefined;
  refetch: () => Promise<void>;
  /** The agent, waited for while it is looked up: what a user asks for before that is done once it is found. */
  whenReady: () => Promise<Agent>;
}

export const notReady = () =>
  new OracleError('The agent is not ready yet.', { code: 'ORACLE_NOT_READY', retryable: true });

/** The way to an agent, once its address is known. */
export function useAgent(oracleDid?: string, overrides?: ConfigOverrides): AgentResult {
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
