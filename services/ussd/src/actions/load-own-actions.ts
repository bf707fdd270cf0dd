import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { StartError } from '@palaver/service-kit';
import type { Actions } from './action.ts';

/** The operator's own actions, from the module that `USSD_ACTIONS` names. */
export async function loadOwnActions(path: string | undefined): Promise<Actions> {
  if (path === undefined) return {};
  const { actions } = (await import(pathToFileURL(resolve(path)).href)) as { actions?: Actions };
  if (typeof actions !== 'object') throw new StartError(`USSD_ACTIONS=${path}: the module exports no "actions"`);
  return actions;
}
