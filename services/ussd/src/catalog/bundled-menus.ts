import { fileURLToPath } from 'node:url';
import type { Registry } from '@palaver/program/internal';
import type { DeclaredAction } from '../actions/action.ts';
import { defaultSignatures } from '../actions/default-signatures.ts';
import { loadOwnActions } from '../actions/load-own-actions.ts';
import { validators } from '../actions/validators.ts';
import type { UssdConfig } from '../config.ts';
import type { MenuSources } from './read-source.ts';

type MenuConfig = Pick<UssdConfig, 'USSD_PROGRAMS' | 'USSD_MENUS' | 'USSD_LOCALES'>;

/** Texts the service itself says, outside of any state. */
const serviceTexts = ['main.expired'];

/** Where the menus and texts are: the operator's own, or the bundled ones. */
export function toMenuSources(own: {
  USSD_MENUS?: string | undefined;
  USSD_LOCALES?: string | undefined;
}): MenuSources {
  const beside = (folder: string) => fileURLToPath(new URL(`../../${folder}`, import.meta.url));
  return { menus: own.USSD_MENUS ?? beside('menus'), locales: own.USSD_LOCALES ?? beside('locales') };
}

/** Programs alone where they are all that is configured; else the menus too. */
export function toServed({ USSD_PROGRAMS: folder, USSD_MENUS, USSD_LOCALES }: MenuConfig) {
  const isAlone = folder !== undefined && USSD_MENUS === undefined;
  return { folder, menus: isAlone ? undefined : toMenuSources({ USSD_MENUS, USSD_LOCALES }) };
}

/** What menu files are checked against. */
export function toRegistry(actions: Record<string, DeclaredAction>, own: Registry['validators'] = {}): Registry {
  return { actions, validators: { ...validators, ...own }, texts: serviceTexts };
}

/** The same for the bundled actions and those of the operator's module. */
export async function loadRegistry(ownActions: string | undefined): Promise<Registry> {
  const own = await loadOwnActions(ownActions);
  return toRegistry({ ...defaultSignatures, ...own.actions }, own.validators);
}
