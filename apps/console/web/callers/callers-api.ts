import type { RecentCallers, UssdCaller } from '@palaver/contract/internal';
import { callAsOperator, loadAsOperator, sendAsOperator } from '../api/call-service.ts';

export type { UssdCaller as Caller } from '@palaver/contract/internal';

/** Found by a number that was typed, or by a reference from a list. */
export type CallerKey = { phoneNumber: string } | { caller: string };

const root = '/api/ussd';
const send = <Answer>(path: string, body: object, method?: 'PUT') =>
  sendAsOperator<Answer>('ussd-gateway', path, body, method);
const accountPath = (phoneNumber: string, rest: string) =>
  `${root}/accounts/${encodeURIComponent(phoneNumber)}/${rest}`;

/** The routes of the USSD gateway for one caller. */
export const callersApi = {
  recent: () => loadAsOperator<RecentCallers>('ussd-gateway', `${root}/callers`),
  find: (key: CallerKey) => send<UssdCaller>(`${root}/callers/find`, key),
  reveal: (caller: string) => send<{ phoneNumber: string }>(`${root}/callers/reveal`, { caller }),
  unlock: (phoneNumber: string) => send(accountPath(phoneNumber, 'unlock'), {}),
  resetPin: (phoneNumber: string) => send<{ pin: string }>(accountPath(phoneNumber, 'reset-pin'), {}),
  setAddress: (phoneNumber: string, address: string) =>
    send<{ pending?: object }>(accountPath(phoneNumber, 'address'), { address: address || null }, 'PUT'),
  erase: (phoneNumber: string) =>
    callAsOperator('ussd-gateway', `${root}/users/${encodeURIComponent(phoneNumber)}`, { method: 'DELETE' }),
};
