import type { ActionResult, ActionSignature } from '@palaver/program/internal';
import type { Logger } from '@palaver/service-kit';
import type { Transaction } from 'kysely';
import type { UssdTables } from '../store/tables.ts';

/** The data and operations that an action has. */
export interface ActionContext {
  /** Of session and step: the same for a retry, a replay and another instance. */
  key: string;
  phoneNumber: string;
  language: string;
  /** The account logged in, if any. */
  account: string | undefined;
  now: number;
  log: Logger;
  /** An answer by the name it was saved under, secret ones included. */
  answer(name: string): string;
  /** The same where it may not have been given. */
  findAnswer(name: string): string | undefined;
  /** A text in the user's language. */
  say(key: string, values?: Record<string, string>): string;
  /** Writes once: what `act` does and its result are committed together, or were before. Nothing slow inside. */
  commit(act: (trx: Transaction<UssdTables>) => Promise<ActionResult>): Promise<ActionResult>;
}

export interface DeclaredAction extends ActionSignature {
  /** What it does, for the reference. */
  about?: string;
  /** May run again for the same key: it writes through `commit` only, and the result that was recorded first counts. */
  repeatable?: boolean;
}

/** The only code an operator writes for a menu of their own. */
export interface Action extends DeclaredAction {
  run(context: ActionContext): Promise<ActionResult>;
}

export type Actions = Record<string, Action>;

/** What each action does, apart from what is declared of it. */
export type RunOf<Name extends string> = Record<Name, Action['run']>;
