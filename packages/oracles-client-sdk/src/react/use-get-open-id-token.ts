'use client';

import { useCallback } from 'react';
import { getOpenIdToken, type OpenIdToken } from '../core/open-id-token.ts';
import type { OracleError } from '../core/oracle-error.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useLoad } from './use-load.ts';

export interface OpenIdTokenResult {
  openIdToken: OpenIdToken | undefined;
  isLoading: boolean;
  error: OracleError | undefined;
  /** A token in force: the one there is, or a new one when it is about to expire. */
  getToken: () => Promise<OpenIdToken>;
  /** @deprecated Use `getToken`. */
  refetch: () => Promise<OpenIdToken | undefined>;
}

/** A Matrix OpenID token of the connected user. */
export function useGetOpenIdToken(): OpenIdTokenResult {
  const { matrix } = useOraclesContext().wallet;
  // Users without a Matrix session have empty ones.
  const key = matrix.homeServer && matrix.accessToken ? `${matrix.homeServer} ${matrix.accessToken}` : undefined;
  const { data, isLoading, error } = useLoad(key, () => getOpenIdToken(matrix));
  const getToken = useCallback(() => getOpenIdToken(matrix), [matrix]);
  return { openIdToken: data, isLoading, error, getToken, refetch: getToken };
}
