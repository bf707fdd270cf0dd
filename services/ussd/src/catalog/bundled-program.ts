import { fileURLToPath } from 'node:url';
import type { BuiltInName, Menu, Registry } from '@palaver/program/internal';
import { isProduction } from '@palaver/service-kit/internal';
import { type DeclaredAction, loadOwnActions } from '../actions/action.ts';
import { defaultSignatures } from '../actions/default-signatures.ts';
import { validators } from '../actions/validators.ts';
import { programSecretPrefix, type UssdConfig } from '../config.ts';

/** What a screen says as its call fills up, and what ends a call or a dialogue by text messages. */
export const callTexts = {
  low: 'main.callLow',
  full: 'main.callFull',
  textFull: 'main.textFull',
  textSecret: 'main.textSecret',
} as const;

const serviceTexts = {
  texts: ['main.expired'],
  optionalTexts: [callTexts.textFull, callTexts.textSecret],
  hints: [callTexts.low],
  closings: ['main.expired', callTexts.full],
};

/** The folder of the program that others extend, and that is served where there is no other. */
export const bundledProgram = fileURLToPath(new URL('../../palaver', import.meta.url));

export function toRegistry(actions: Record<string, DeclaredAction>, own: Registry['validators'] = {}): Registry {
  return { actions, validators: { ...validators, ...own }, ...serviceTexts };
}

export async function loadRegistry(ownActions: string | undefined): Promise<Registry> {
  const own = await loadOwnActions(ownActions);
  return toRegistry({ ...defaultSignatures, ...own.actions }, own.validators);
}

export type FindUnmetNeeds = ReturnType<typeof createFindUnmetNeeds>;

export function createFindUnmetNeeds(config: UssdConfig, secrets: Readonly<Record<string, string>>) {
  return (menu: Menu) => {
    /** A program with any is not taken into use. */
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
