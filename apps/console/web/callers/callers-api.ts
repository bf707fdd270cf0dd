import type { RecentCallers, UssdCaller } from '@palaver/contract/internal';
import { loadAsOperator } from '../api/call-service.ts';

export type { UssdCaller as Caller } from '@palaver/contract/internal';

/** Found by a number that was typed, or by a reference from a list. */
export type CallerKey = { phoneNumber: string } | { caller: string };

function ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const init = body
    ? { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    : { method };
  return loadAsOperator('ussd-gateway', `/api/ussd${path}`, init);
}

const accountPath = (phoneNumber: string, rest: string) => `/accounts/${encodeURIComponent(phoneNumber)}/${rest}`;

/** The routes of the USSD gateway for one caller. */
export const callersApi = {
  recent: () => ask<RecentCallers>('GET', '/callers'),
  find: (key: CallerKey) => ask<UssdCaller>('POST', '/callers/find', key),
  reveal: (caller: string) => ask<{ phoneNumber: string }>('POST', '/callers/reveal', { caller }),
  unlock: (phoneNumber: string) => ask('POST', accountPath(phoneNumber, 'unlock'), {}),
  resetPin: (phoneNumber: string) => ask<{ pin: string }>('POST', accountPath(phoneNumber, 'reset-pin'), {}),
  setAddress: (phoneNumber: string, address: string) =>
    ask<{ pending?: object }>('PUT', accountPath(phoneNumber, 'address'), { address: address || null }),
  erase: (phoneNumber: string) => ask('DELETE', `/users/${encodeURIComponent(phoneNumber)}`),
};
