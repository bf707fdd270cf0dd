import { fileURLToPath } from 'node:url';
import type { BuiltInName, Menu, Registry } from '@palaver/program/internal';
import { isProduction } from '@palaver/service-kit/internal';
import { type DeclaredAction, loadOwnActions } from '../actions/action.ts';
import { defaultSignatures } from '../actions/default-signatures.ts';
import { validators } from '../actions/validators.ts';
import { programSecretPrefix, type UssdConfig } from '../config.ts';
import type { MenuSources } from './read-source.ts';

type MenuConfig = Pick<UssdConfig, 'USSD_PROGRAMS' | 'USSD_MENUS' | 'USSD_LOCALES'>;

/** Texts the service itself says, outside of any state. */
const serviceTexts = ['main.expired'];

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

export function toRegistry(actions: Record<string, DeclaredAction>, own: Registry['validators'] = {}): Registry {
  return { actions, validators: { ...validators, ...own }, texts: serviceTexts };
}

export async function loadRegistry(ownActions: string | undefined): Promise<Registry> {
  const own = await loadOwnActions(ownActions);
  return toRegistry({ ...defaultSignatures, ...own.actions }, own.validators);
}

interface UnmetNeeds {
  /** A program with any is not taken into use. */
  faults: string[];
  warnings: string[];
}

export type FindUnmetNeeds = (menu: Menu) => UnmetNeeds;

export function createFindUnmetNeeds(
  config: Pick<UssdConfig, 'NODE_ENV' | 'SMS_PROVIDER' | 'CLAIMS_COLLECTION'>,
  secrets: Readonly<Record<string, string>>,
): FindUnmetNeeds {
  return (menu) => {
    const faults: string[] = [];
    const warnings = menu.secrets
      .filter((name) => !Object.hasOwn(secrets, name))
      .map((name) => `the program sends the secret ${name}, and ${programSecretPrefix}${name} is not set`);
    if (isProduction(config.NODE_ENV) && config.SMS_PROVIDER === 'file' && uses(menu, 'sms'))
      faults.push('the program sends SMS messages; production needs an SMS_PROVIDER other than file');
    if (config.CLAIMS_COLLECTION === undefined && uses(menu, 'claim'))
      warnings.push('the program files claims, and CLAIMS_COLLECTION is not set');
    return { faults, warnings };
  };
}

function uses({ states }: Menu, action: BuiltInName): boolean {
  return [...states.values()].some((state) => state.kind === 'action' && state.spec && action in state.spec);
}
