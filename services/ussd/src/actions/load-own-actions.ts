import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Registry } from '@palaver/program/internal';
import { StartError } from '@palaver/service-kit';
import type { Actions } from './action.ts';

export interface OwnCode {
  actions: Actions;
  validators: Registry['validators'];
}

/** The operator's own actions and validators, from the module that `USSD_ACTIONS` names. */
export async function loadOwnActions(path: string | undefined): Promise<OwnCode> {
  if (path === undefined) return { actions: {}, validators: {} };
  const { actions, validators } = (await import(pathToFileURL(resolve(path)).href)) as Partial<OwnCode>;
  if (typeof actions !== 'object' && typeof validators !== 'object')
    throw new StartError(`USSD_ACTIONS=${path}: the module exports neither "actions" nor "validators"`);
  return { actions: actions ?? {}, validators: validators ?? {} };
}
