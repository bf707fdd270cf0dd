import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type {
  ActionResult,
  ActionSignature,
  BuiltIn,
  BuiltInName,
  Dialogue,
  Menu,
  Registry,
} from '@palaver/program/internal';
import { type Logger, StartError } from '@palaver/service-kit';
import type { Trx } from '../store/tables.ts';

export interface ActionContext {
  /** Of session and step: the same for a retry, a replay and another instance. */
  key: string;
  phoneNumber: string;
  language: string;
  account: string | undefined;
  now: number;
  log: Logger;
  /** An answer by the name it was saved under, secret ones included. */
  answer(name: string): string;
  findAnswer(name: string): string | undefined;
  say(key: string, values?: Record<string, string>): string;
  /** Commits what `act` writes together with its result, once. `act` must be quick. */
  commit(act: (trx: Trx) => Promise<ActionResult>): Promise<ActionResult>;
}

export interface DeclaredAction extends ActionSignature {
  about?: string;
  /** May run again for the same key, because it writes through `commit` only; the first recorded result counts. */
  repeatable?: boolean;
}

/** What an operator writes in code: everything else of a menu is YAML. */
export interface Action extends DeclaredAction {
  run(context: ActionContext): Promise<ActionResult>;
}

export type Actions = Record<string, Action>;

export type RunOf<Name extends string> = Record<Name, Action['run']>;

export interface BuiltInCall<Name extends BuiltInName = BuiltInName> {
  spec: BuiltIn<Name>;
  menu: Menu;
  dialogue: Dialogue;
  context: ActionContext;
}

export type Runs = { [Name in BuiltInName]: (call: BuiltInCall<Name>) => Promise<ActionResult> };

interface OwnCode {
  actions: Actions;
  validators: Registry['validators'];
}

export async function loadOwnActions(path: string | undefined): Promise<OwnCode> {
  if (path === undefined) return { actions: {}, validators: {} };
  const { actions, validators } = (await import(pathToFileURL(resolve(path)).href)) as Partial<OwnCode>;
  if (typeof actions !== 'object' && typeof validators !== 'object')
    throw new StartError(`USSD_ACTIONS=${path}: the module exports neither "actions" nor "validators"`);
  return { actions: actions ?? {}, validators: validators ?? {} };
}
