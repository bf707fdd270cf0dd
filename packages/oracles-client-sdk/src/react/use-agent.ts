'use client';

import { useMemo } from 'react';
import { type AgentApi, createAgentApi } from '../core/agent-api.ts';
import type { ConfigOverrides, OracleConfig } from '../core/oracle-config.ts';
import type { OracleError } from '../core/oracle-error.ts';
import type { Transport } from '../core/transport.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useOracleDid } from './use-oracle-did.ts';
import { useOraclesConfig } from './use-oracles-config.ts';

export interface Agent {
  /** Names this agent and this user: a key for what is loaded from it. */
  key: string;
  config: OracleConfig;
  transport: Transport;
  api: AgentApi;
}

/** The way to an agent, once its address is known. */
export function useAgent(
  oracleDid?: string,
  overrides?: ConfigOverrides,
): { agent: Agent | undefined; error: OracleError | undefined; refetch: () => Promise<void> } {
  const { createTransport, wallet } = useOraclesContext();
  const did = useOracleDid(oracleDid);
  const { config, isReady, error, refetch } = useOraclesConfig(did, overrides);
  const agent = useMemo(() => {
    if (!isReady || !did || !wallet.did) return undefined;
    const known = config as OracleConfig;
    const transport = createTransport(did, known.apiUrl);
    return { key: `${wallet.did} ${did} ${known.apiUrl}`, config: known, transport, api: createAgentApi(transport) };
  }, [config, isReady, did, createTransport, wallet.did]);
  return { agent, error, refetch };
}
