import type { BuiltInName, Menu } from '@palaver/program/internal';
import { isProduction } from '@palaver/service-kit/internal';
import { programSecretPrefix, type UssdConfig } from '../config.ts';

/** What a program needs and its deployment lacks. A program with faults is not taken into use. */
export interface UnmetNeeds {
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
