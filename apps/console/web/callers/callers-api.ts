import { callAsOperator } from '../api/call-service.ts';
import type { Result, Source } from '../results/results-api.ts';

export interface RecentCaller {
  caller: string;
  maskedNumber: string;
  serviceCode: string;
  seenAt: string;
}

export interface Caller {
  caller: string;
  maskedNumber: string;
  account: {
    name: string;
    createdAt: string;
    lock: 'none' | 'for a time' | 'until unlocked';
    failedPins: number;
    address: string | null;
    hasWallet: boolean;
  } | null;
  language: string | null;
  sessions: {
    id: string;
    serviceCode: string;
    program: string | null;
    state: string | null;
    status: 'active' | 'ended' | 'expired';
    openedAt: string;
    seenAt: string;
  }[];
  results: (Result & { program: string; source: Source; name: string })[];
}

/** Found by a number that was typed, or by a reference from a list. */
export type CallerKey = { phoneNumber: string } | { caller: string };

async function ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const init = body
    ? { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    : { method };
  return (await callAsOperator('ussd-gateway', `/api/ussd${path}`, init)).json() as Promise<Answer>;
}

const accountPath = (phoneNumber: string, rest: string) => `/accounts/${encodeURIComponent(phoneNumber)}/${rest}`;

/** The routes of the USSD gateway for one caller. */
export const callersApi = {
  recent: () => ask<{ callers: RecentCaller[] }>('GET', '/callers'),
  find: (key: CallerKey) => ask<Caller>('POST', '/callers/find', key),
  reveal: (caller: string) => ask<{ phoneNumber: string }>('POST', '/callers/reveal', { caller }),
  unlock: (phoneNumber: string) => ask('POST', accountPath(phoneNumber, 'unlock'), {}),
  resetPin: (phoneNumber: string) => ask<{ pin: string }>('POST', accountPath(phoneNumber, 'reset-pin'), {}),
  setAddress: (phoneNumber: string, address: string) =>
    ask<{ pending?: object }>('PUT', accountPath(phoneNumber, 'address'), { address: address || null }),
  erase: (phoneNumber: string) => ask('DELETE', `/users/${encodeURIComponent(phoneNumber)}`),
};
