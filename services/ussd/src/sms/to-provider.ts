import { join } from 'node:path';
import { StartError } from '@palaver/service-kit';
import type { UssdConfig } from '../config.ts';
import {
  createAfricasTalkingProvider,
  createFileProvider,
  createTwilioProvider,
  createWebhookProvider,
  type SmsProvider,
} from './provider.ts';

type Variable = 'SMS_URL' | 'SMS_USER' | 'SMS_TOKEN' | 'SMS_FROM';

/** Who sends messages, as the variables say. */
export function toSmsProvider(config: UssdConfig): SmsProvider {
  const { SMS_PROVIDER: name, SMS_URL, SMS_USER: user = '', SMS_TOKEN: token, SMS_FROM: from } = config;
  const need = (...variables: Variable[]) => {
    const missing = variables.filter((variable) => config[variable] === undefined);
    if (missing.length > 0) throw new StartError(`SMS_PROVIDER=${name} needs ${missing.join(', ')}`);
  };
  const options = (url: string) => ({ url: (SMS_URL ?? url).replace(/\/$/, ''), user, token, from });
  switch (name) {
    case 'file':
      return createFileProvider(join(config.DATA_DIR, 'sms'));
    case 'webhook':
      need('SMS_URL');
      return createWebhookProvider(options(''));
    case 'twilio':
      need('SMS_USER', 'SMS_TOKEN', 'SMS_FROM');
      return createTwilioProvider(options('https://api.twilio.com'));
    case 'africas-talking':
      need('SMS_USER', 'SMS_TOKEN');
      return createAfricasTalkingProvider(
        options(`https://api.${user === 'sandbox' ? 'sandbox.' : ''}africastalking.com`),
      );
  }
}
