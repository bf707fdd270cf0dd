'use client';

import { useCallback, useRef, useState } from 'react';
import type { AgentApi } from '../core/agent-api.ts';
import { checkTransaction, toClaimsPrice, toPaymentMessages } from '../core/contract-messages.ts';
import type { ConfigOverrides, OracleConfig } from '../core/oracle-config.ts';
import { OracleError, toError } from '../core/oracle-error.ts';
import { withRetries } from '../core/retry-policy.ts';
import { useOraclesContext } from './oracles-context.ts';
import { useAgent } from './use-agent.ts';
import { useLoad } from './use-load.ts';

/** `free`: there was nothing to pay. */
export type ContractStatus = 'idle' | 'paying' | 'authorizing' | 'done' | 'free' | 'error';

export type ContractOracleResult = ReturnType<typeof useContractOracle>;

interface ContractParams {
  params: { oracleDid: string; claimId?: string | undefined; [other: string]: unknown };
}

/** The contract between the user and an agent. */
export function useContractOracle(oracle?: string | ContractParams, options: { overrides?: ConfigOverrides } = {}) {
  const { oracleDid, claimId } = typeof oracle === 'object' ? oracle.params : { oracleDid: oracle };
  const { wallet, transactSignX, credentials, resolveConfig, ...context } = useOraclesContext();
  const { agent, error: configError, whenReady } = useAgent(oracleDid, options.overrides);
  const [state, setState] = useState<{ status: ContractStatus; error?: OracleError }>({ status: 'idle' });
  const delegation = useLoad(agent && `delegation ${agent.key}`, async () =>
    agent?.transport.json<{ authorized: boolean }>('/delegation'),
  );
  const { reload } = delegation;
  /** Claims whose payment was sent or is being signed. */
  const paid = useRef(new Set<string>());
  const transaction = useRef<unknown>(undefined);

  const transfer = useCallback(
    async ({ price, payee }: Pick<OracleConfig, 'price' | 'payee'>, memo: string): Promise<unknown> => {
      if (!price || BigInt(price.amount) === 0n) return undefined;
      if (!payee) throw new Error('The agent names no account to be paid.');
      const result = await transactSignX(toPaymentMessages({ from: wallet.address, to: payee, price }), memo);
      checkTransaction(result);
      return result ?? null;
    },
    [transactSignX, wallet.address],
  );

  const follow = useCallback(async <T>(status: ContractStatus, work: () => Promise<T>): Promise<T> => {
    setState({ status });
    try {
      const result = await work();
      setState({ status: result === undefined ? 'free' : 'done' });
      return result;
    } catch (error) {
      setState({ status: 'error', error: toError(error) });
      throw error;
    }
  }, []);

  const contract = useCallback(
    () =>
      follow('paying', async () => {
        const { api, config, did } = await whenReady();
        // With overridden addresses the terms are still the protocol's, where a gateway can be asked.
        const terms = context.gatewayUrl ? await resolveConfig(did) : config;
        const paid = await transfer(terms, `contract ${wallet.did}`);
        setState({ status: 'authorizing' });
        const { serialized } = await credentials.renewDelegation(did);
        await api.storeDelegation(serialized);
        await reload();
        return paid;
      }),
    [whenReady, wallet.did, context.gatewayUrl, resolveConfig, credentials, follow, transfer, reload],
  );
  const pay = useCallback(
    (claimIds: string[]) =>
      follow('paying', async () => {
        const { api, did } = await whenReady();
        const open = await api.listClaims();
        if (!open) {
          // An agent without credits: its terms are the protocol's, and it closes no claims.
          const { price, payee } = await resolveConfig(did);
          const total = price && toClaimsPrice(claimIds, undefined, price);
          return transfer({ price: total, payee }, `claims ${claimIds.join(' ')}`);
        }
        const asked = open.filter(({ claimId }) => claimIds.includes(claimId));
        if (asked.length === 0) return undefined;
        // What was paid here and is not booked yet is not paid again.
        const due = asked.map(({ claimId }) => claimId).filter((claimId) => !paid.current.has(claimId));
        for (const claimId of due) paid.current.add(claimId);
        try {
          const terms = due.length > 0 && (await api.readTerms());
          if (terms === undefined)
            throw new Error('The agent takes no payments on the chain. Ask its operator how to pay.');
          if (terms) {
            const price = toClaimsPrice(due, asked, terms.price);
            transaction.current = await transfer({ price, payee: terms.address }, `claims ${due.join(' ')}`);
          }
        } catch (error) {
          for (const claimId of due) paid.current.delete(claimId);
          throw error;
        }
        await waitUntilBooked(api, claimIds);
        return transaction.current ?? null;
      }),
    [whenReady, resolveConfig, follow, transfer],
  );
  const isBusy = state.status === 'paying' || state.status === 'authorizing';
  const price = agent?.config.price;

  return {
    /** Pays the agent's price, if it has one, and authorises it; `free` where it has none. */
    contract,
    status: state.status,
    /** Whether the agent holds an authorisation of the user that is in force. */
    isContracted: delegation.data?.authorized ?? false,
    /** Pays claims and waits until they are closed; `free` if none is open. After `PAYMENT_PENDING` it only waits, and pays nothing. */
    pay,
    error: state.error ?? configError ?? delegation.error,
    /** @deprecated Use `contract`. */
    contractOracle: async (_options?: { useAuthz?: boolean }) => void (await contract()),
    /** @deprecated Use `status`. */
    isContractingOracle: isBusy,
    /** @deprecated Use `pay`. */
    payClaim: async () => void (await pay(claimId ? [claimId] : [])),
    /** @deprecated Use `status`. */
    isPayingClaim: isBusy,
    /** @deprecated Use `price` of `useOraclesConfig`. */
    pricingList: agent && (price ? [{ title: agent.config.oracleName ?? '', description: '', ...price }] : []),
    /** @deprecated Use `isLoading` of `useOraclesConfig`. */
    isLoadingPricingList: !agent && !configError,
    /** @deprecated Agents have no room to be invited to. */
    isOracleInRoom: delegation.data?.authorized ?? false,
    /** @deprecated Agents have no room to be invited to. */
    isLoadingOracleInRoom: delegation.isLoading,
    /** @deprecated Agents have no room to be invited to. */
    inviteOracle: async () => {},
    /** @deprecated Agents have no room to be invited to. */
    isInvitingOracle: false as boolean,
  };
}

const bookedWithinMs = 2 * 60_000;

async function waitUntilBooked({ listClaims }: AgentApi, claimIds: readonly string[]): Promise<void> {
  const check = async () => {
    const open = await listClaims();
    if (!open?.some(({ claimId }) => claimIds.includes(claimId))) return;
    const message = 'The payment was sent, and the agent has not booked it yet. Do not pay again.';
    throw new OracleError(message, { code: 'PAYMENT_PENDING', retryable: true });
  };
  await withRetries(check, new AbortController().signal, bookedWithinMs);
}
