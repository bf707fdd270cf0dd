import type { TriedCall } from '@palaver/contract/internal';
import { africasTalking } from './africas-talking.ts';
import { arkesel } from './arkesel.ts';
import type { Dialect } from './dialect.ts';

export interface SampleCall {
  sessionId: string;
  phoneNumber: string;
  serviceCode: string;
  inputs: readonly string[];
}

interface Sender {
  dialect: Dialect;
  contentType: string;
  write(call: SampleCall): string;
}

const senders = {
  'africas-talking': {
    dialect: africasTalking,
    contentType: 'application/x-www-form-urlencoded',
    write: ({ inputs, ...call }) => new URLSearchParams({ ...call, text: inputs.join('*') }).toString(),
  },
  arkesel: {
    dialect: arkesel,
    contentType: 'application/json',
    write: ({ sessionId, phoneNumber, serviceCode, inputs }) =>
      JSON.stringify({
        sessionID: sessionId,
        userID: 'trial',
        newSession: inputs.length === 0,
        msisdn: phoneNumber.slice(1),
        userData: inputs.at(-1) ?? serviceCode,
      }),
  },
} satisfies Record<string, Sender>;

export type AdapterName = keyof typeof senders;
export const adapterNames = Object.keys(senders) as [AdapterName, ...AdapterName[]];

/** What a telecom gateway sends for the last input of a call, and what it gets for `reply`. */
export function toSampleExchange(adapter: AdapterName, call: SampleCall, reply: string): TriedCall['exchange'] {
  const { dialect, contentType, write }: Sender = senders[adapter];
  const body = write(call);
  return {
    path: dialect.path,
    request: { contentType, body },
    reply: dialect.write(dialect.read(contentType, body), reply),
  };
}
