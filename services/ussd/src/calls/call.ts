import type { Surface } from '@palaver/program';
import type { Dialogue, Input, Menu } from '@palaver/program/internal';
import type { SessionTable } from '../store/tables.ts';

/** What was typed may hold a PIN, so a session keeps only its hash. */
export interface Call {
  sessionId: string;
  serviceCode: string;
  phoneNumber: string;
  /** Everything typed so far, the newest input last; empty at the first dial. */
  inputs: readonly string[];
  typedLength: number;
  /** What the program is shown on, where it is not a USSD screen. */
  surface?: Surface;
  openStatus: number;
  toInput(index: number): Input;
  hashTyped(): string;
  /** The index of the first input that a session has not taken yet; `undefined` if all inputs must be played again. */
  findFirstNew(session: SessionTable): number | undefined;
  /** The key of the `step`-th action that the last of the first `count` inputs runs. */
  toActionKey(count: number, step: number): string;
  measureRoom(menu: Menu, dialogue: Dialogue): CallRoom;
}

export type CallRoom = { kind: 'enough' } | { kind: 'low'; dialogue: Dialogue } | { kind: 'full'; closing: string };

export type RequestKind = 'opened' | 'continued' | 'rebuilt' | 'retried' | 'ended' | 'expired' | 'refused';

export type RequestResult = { reply: string; kind: RequestKind } | { invalid: string };
