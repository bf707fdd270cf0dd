'use client';

import { type ReactNode, useCallback, useMemo } from 'react';
import { type CredentialCache, createCredentialCache, type Sign } from '../core/credentials.ts';
import {
  type ConfigOverrides,
  type GatewayAccess,
  type OracleConfig,
  type ResolveOptions,
  resolveOracleConfig,
} from '../core/oracle-config.ts';
import { OracleError, toOracleError } from '../core/oracle-error.ts';
import { type OpenSocket, openSocketChannel } from '../core/socket-channel.ts';
import { createTransport, toAuthHeaders } from '../core/transport.ts';
import {
  createShared,
  OraclesContext,
  type OraclesContextValue,
  type TransactSignX,
  type Wallet,
} from './oracles-context.ts';
import { useLatest } from './use-load.ts';

export interface OraclesProviderProps {
  /** The connected user's DID, with an address to pay from and a Matrix session if there are; undefined while nobody has signed in. */
  initialWallet?: (Pick<Wallet, 'did'> & Partial<Wallet>) | undefined;
  /** Without it nothing can be paid. */
  transactSignX?: TransactSignX | undefined;
  createDelegation: Sign;
  /** Mints a short-lived invocation; without it the delegation alone signs the user in. */
  createInvocation?: Sign | undefined;
  gatewayUrl?: string | undefined;
  /** What that gateway asks for, and where it serves the protocol. */
  gatewayAccess?: GatewayAccess | undefined;
  /** The agent of hooks that are given none. */
  oracleDid?: string | undefined;
  /** Addresses of that agent, where they are not looked up. */
  overrides?: ConfigOverrides | undefined;
  /** `session` keeps signed artifacts in `sessionStorage` so that a reload asks the wallet for nothing. */
  credentialStorage?: 'memory' | 'session' | undefined;
  /** Replaces the global `fetch`: one with streamed bodies in React Native, or one with a proxy. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Replaces the event channel over Socket.IO, for tests. */
  openSocket?: OpenSocket | undefined;
  /** @deprecated It is ignored: the library does not use TanStack Query. */
  queryClient?: unknown;
  children?: ReactNode;
}

const configLifeMs = 5 * 60_000;

/** Holds the user's wallet and everything that is shared between the hooks below it. */
export function OraclesProvider(props: OraclesProviderProps) {
  const { gatewayUrl, oracleDid, overrides, credentialStorage = 'memory', children } = props;
  const wallet = useWallet(props.initialWallet);
  const latest = useLatest(props);
  const hasInvocations = props.createInvocation !== undefined;

  const credentials = useMemo(
    () =>
      createCredentialCache({
        userDid: wallet.did,
        createDelegation: (...what) => latest.current.createDelegation(...what),
        createInvocation: hasInvocations
          ? (...what) => (latest.current.createInvocation ?? latest.current.createDelegation)(...what)
          : undefined,
        storage: credentialStorage === 'session' ? findSessionStorage() : undefined,
      }),
    [wallet.did, hasInvocations, credentialStorage, latest],
  );
  const request = useCallback<typeof globalThis.fetch>(
    (...args) => (latest.current.fetch ?? globalThis.fetch)(...args),
    [latest],
  );
  const { apiKey, ucan, prefix } = props.gatewayAccess ?? {};
  const resolveConfig = useMemo(
    () => createConfigCache({ gatewayUrl, gatewayAccess: { apiKey, ucan, prefix }, fetch: request }),
    [gatewayUrl, apiKey, ucan, prefix, request],
  );
  const shared = useMemo(createShared, []);
  const { baseUrl, wsUrl } = overrides ?? {};
  const value = useMemo<OraclesContextValue>(
    () => ({
      ...shared,
      wallet,
      credentials,
      gatewayUrl,
      oracleDid,
      overrides: { baseUrl, wsUrl },
      resolveConfig,
      getDelegation: async (did) => (await credentials.get(did)).delegation ?? null,
      getInvocation: async (did) => (await credentials.get(did)).invocation ?? null,
      authedRequest: <T,>(url: string, method: string, init: RequestInit = {}, did = oracleDid ?? '') =>
        requestWith<T>({ request, credentials, did }, url, { ...init, method }),
      transactSignX: (messages, memo) => (latest.current.transactSignX ?? refuseToPay)(messages, memo),
      createTransport: (did, apiUrl) =>
        createTransport({
          baseUrl: apiUrl,
          oracleDid: did,
          credentials,
          userDid: wallet.did,
          fetch: request,
          openSocket: (channel) => (latest.current.openSocket ?? openSocketChannel)(channel),
        }),
    }),
    [shared, wallet, credentials, gatewayUrl, oracleDid, baseUrl, wsUrl, resolveConfig, request, latest],
  );
  return <OraclesContext.Provider value={value}>{children}</OraclesContext.Provider>;
}

async function refuseToPay(): Promise<never> {
  throw new OracleError('This page has no wallet to pay with.', { code: 'NO_WALLET' });
}

/** The same object for as long as nothing in it changes: applications write it inline. */
function useWallet(given: OraclesProviderProps['initialWallet']): Wallet {
  const { address = '', did = '', matrix: { accessToken = '', homeServer = '' } = {} } = given ?? {};
  return useMemo(
    () => ({ address, did, matrix: { accessToken, homeServer } }),
    [address, did, accessToken, homeServer],
  );
}

async function requestWith<T>(
  from: { request: typeof globalThis.fetch; credentials: CredentialCache; did: string },
  url: string,
  init: RequestInit,
): Promise<T> {
  const tokens = await from.credentials.get(from.did);
  const headers = { 'content-type': 'application/json', ...toAuthHeaders(tokens), ...(init.headers as object) };
  const response = await from.request(url, { ...init, headers });
  if (!response.ok) throw await toOracleError(response);
  return (await response.json()) as T;
}

/** Missing on servers; browsers that block it throw when it is touched. */
function findSessionStorage(): Storage | undefined {
  try {
    return globalThis.sessionStorage;
  } catch {
    return undefined;
  }
}

function createConfigCache(options: Omit<ResolveOptions, 'oracleDid'>): (oracleDid: string) => Promise<OracleConfig> {
  const known = new Map<string, { config: Promise<OracleConfig>; until: number }>();
  return (oracleDid) => {
    const kept = known.get(oracleDid);
    if (kept && Date.now() < kept.until) return kept.config;
    const config = resolveOracleConfig({ ...options, oracleDid });
    known.set(oracleDid, { config, until: Date.now() + configLifeMs });
    config.catch(() => known.delete(oracleDid));
    return config;
  };
}
