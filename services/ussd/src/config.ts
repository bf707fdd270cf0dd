import { hkdfSync } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { defaultPorts, ussdLimits } from '@palaver/contract';
import { serviceCodePattern } from '@palaver/contract/internal';
import { fitsOneScreen } from '@palaver/program/internal';
import {
  claimsVariables,
  envCoin,
  envCollection,
  envSigningKey,
  gatewayVariables,
  signingVariables,
} from '@palaver/protocol/internal';
import { baseVariables, type Env, envBoolean, envInteger, envList, envUrl } from '@palaver/service-kit';
import { auditVariables, ownSecret, parseKeyBytes } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { parseSmppLink } from './smpp-options.ts';

export type { SmppOptions } from './smpp-options.ts';

const keyExpected = 'expected 32 bytes as 64 hex digits or base64, or a text of 32 characters';
const keyExample = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';
const minute = 60;
const envScreen = () => z.string().min(1).refine(fitsOneScreen, 'expected a text that fits one screen');

export const programSecretPrefix = 'USSD_SECRET_';
export const adapterSecretPrefix = 'USSD_ADAPTER_SECRET_';
export const secretPrefixes: readonly string[] = [programSecretPrefix, adapterSecretPrefix];

export const ussdConfigSchema = z.object({
  ...baseVariables({ port: defaultPorts.ussd }),
  ...auditVariables(),
  PIN_ENCRYPTION_KEY: z
    .string()
    .transform((text, context) => parseKey(text) ?? refuse(context, keyExpected))
    .optional()
    .meta({
      description:
        'Key that PINs are encrypted with: 32 bytes as 64 hex digits or base64, or a text of 32 characters. If not set, a key is created in DATA_DIR, except in production, which does not start.',
      example: keyExample,
      secret: true,
      inProduction: (text: string | undefined) =>
        text === undefined
          ? 'production does not start with a generated key; make one with: openssl rand -hex 32'
          : undefined,
    }),
  PIN_ENCRYPTION_KEYS_OLD: envList()
    .transform((texts, context) => texts.map((text) => parseKey(text) ?? refuse(context, keyExpected)))
    .prefault('')
    .meta({
      description: 'Earlier keys, comma separated: still readable until `palaver ussd rotate-keys` has run.',
      example: keyExample,
      secret: true,
    }),
  SERVICE_CODES: envList()
    .refine((codes) => codes.every((code) => serviceCodePattern.test(code)), 'expected USSD codes such as *1234#')
    .prefault('')
    .meta({
      description: 'USSD codes that are answered, comma separated; empty answers all.',
      example: '*1234#,*1234*5#',
    }),
  PHONE_PLUS_OPTIONAL: envBoolean()
    .prefault('false')
    .meta({ description: 'Accept phone numbers without their plus, as some telecom gateways send them.' }),
  SESSION_TIMEOUT_SECONDS: envInteger({ min: 1, max: 24 * 60 * minute })
    .prefault(String(ussdLimits.sessionTimeoutSeconds))
    .meta({ description: 'A session without input for this long has expired.' }),
  RETENTION_USSD_HOURS: envInteger({ min: ussdLimits.retentionHours, max: 8_760 })
    .prefault(String(ussdLimits.retentionHours))
    .meta({ description: 'Hours that ended sessions, results of actions, questions and answers are kept.' }),
  RETENTION_SUBMISSIONS_DAYS: envInteger({ min: 0, max: 36_500 }).prefault('0').meta({
    description:
      'Days that submissions of forms are kept, except those that wait for FORMS_SERVER; 0 keeps them until erased.',
  }),
  RETENTION_RECORDS_DAYS: envInteger({ min: 0, max: 36_500 })
    .prefault('0')
    .meta({ description: 'Days that records of programs and reports are kept; 0 keeps them until erased.' }),
  RETENTION_STATS_DAYS: envInteger({ min: 0, max: 36_500 }).prefault('730').meta({
    description:
      'Days that the counts of programs (screens shown, answered, timed out) are kept; 0 keeps them forever.',
  }),
  RETENTION_SMS_DAYS: envInteger({ min: 1, max: 36_500 })
    .prefault('30')
    .meta({ description: 'Days that SMS messages are kept after they were sent or have failed.' }),
  RETENTION_CLAIMS_DAYS: envInteger({ min: 0, max: 36_500 }).prefault('0').meta({
    description:
      'Days that claims are kept after they were paid or rejected, and transactions after they were included; 0 keeps them until erased.',
  }),
  RESUME_MINUTES: envInteger({ min: 0, max: 24 * 60 })
    .prefault('30')
    .meta({ description: 'How long an unfinished form is offered again at the next dial; 0 never offers it.' }),
  USSD_MAX_IN_FLIGHT: envInteger({ min: 1, max: 1_000_000 }).prefault('1000').meta({
    description:
      'Requests of telecom gateways that may be under way at once; beyond it callers read USSD_BUSY_TEXT at once instead of waiting until their telecom gateway gives up. As many text messages may be under way.',
  }),
  USSD_BUSY_TEXT: envScreen().prefault('Many people are calling right now. Please dial again in a minute.').meta({
    description: 'What callers read when more than USSD_MAX_IN_FLIGHT requests are under way.',
    example: 'Beaucoup de personnes appellent en ce moment. Merci de rappeler dans une minute.',
  }),
  USSD_REPEAT_MINUTES: envInteger({ min: 0, max: 24 * 60 })
    .prefault('5')
    .meta({
      description:
        'A report with the content of one that the same account filed this recently is answered with its reference and not filed again; 0 files it.',
    }),
  RATE_LIMIT_PER_MINUTE: envInteger({ min: 1, max: 1_000_000_000 })
    .prefault(String(ussdLimits.requestsPerMinute))
    .meta({ description: 'Requests a minute that one client address may send.' }),
  FOUR_EYES: envBoolean().prefault('false').meta({
    description:
      'A payout address is changed only after a second named admin has approved it, within 24 hours; OPERATOR_TOKEN is not enough.',
  }),
  USSD_SHARED_SECRET: z
    .string()
    .optional()
    .meta({
      description: 'Secret the telecom gateway must send in the header X-Gateway-Secret.',
      example: 'b41d07c2e59f4a36881e0d7c4b2a96f35d8e1c07a4b3f2e6908d5c7b1a4e3f26',
      secret: true,
      inProduction: ownSecret({ unless: ['USSD_ALLOWED_IPS', 'USSD_ACCESS'] }),
    }),
  USSD_ALLOWED_IPS: envList()
    .transform((ranges, context) => toBlockList(ranges) ?? refuse(context, 'expected addresses or CIDR ranges'))
    .optional()
    .meta({
      description: 'Addresses the telecom gateway may call from, as a list of CIDR ranges.',
      example: '10.0.0.0/8,192.0.2.7',
    }),
  USSD_ACCESS: z.enum(['network'], { error: 'expected network' }).optional().meta({
    description:
      'Set to `network` where the network in front lets only the telecom gateway reach the session endpoint; production then starts without USSD_SHARED_SECRET and USSD_ALLOWED_IPS.',
    example: 'network',
  }),
  USSD_ADAPTERS: envList().prefault('').meta({
    description:
      'Files of adapters for telecom gateways, comma separated, beside the bundled ones: YAML, or a module that exports `adapter`. Their secrets are variables that begin with USSD_ADAPTER_SECRET_.',
    example: './adapters/mine.yaml',
  }),
  SMPP_LINKS: envList()
    .transform((links, context) =>
      links.map((text) => {
        const parsed = parseSmppLink(text);
        return typeof parsed === 'string' ? refuse(context, parsed) : parsed;
      }),
    )
    .prefault('')
    .meta({
      description:
        'SMSCs to bind to as transceiver, comma separated: `smpp://system_id:password@host:port`, or `smpps://` for TLS. Parameters: `system_type`, `window`, `per_second`, `enquire_seconds`, `session` (`its_session_info` or the tag of a vendor such as 0x1501), `last` (`response` or `notify`).',
      example: 'smpps://palaver:secret@smsc.operator.example:3550?window=20&per_second=50',
      secret: true,
    }),
  USSD_SIM_SWAP_URL: envUrl('http:', 'https:').optional().meta({
    description:
      'Address that is asked before a PIN is checked whether the SIM was changed recently, as in the SIM Swap API of CAMARA: POST { phoneNumber, maxAge } is answered by { swapped }. A changed SIM is refused.',
    example: 'https://api.operator.example/sim-swap/v2/check',
  }),
  USSD_SIM_SWAP_TOKEN: z.string().optional().meta({
    description: 'Bearer token for USSD_SIM_SWAP_URL.',
    example: 'a-long-random-text',
    secret: true,
  }),
  USSD_SIM_SWAP_ON_FAULT: z.enum(['allow', 'refuse']).prefault('allow').meta({
    description:
      'What happens when USSD_SIM_SWAP_URL gives no usable answer in 2 s: `allow` continues with the PIN alone, `refuse` treats the SIM as changed.',
    example: 'refuse',
  }),
  USSD_LANGUAGE: z.string().prefault('en').meta({
    description: 'Language of callers who have not chosen one: the name of a file in `locales` of a program.',
    example: 'fr',
  }),
  USSD_ACTIONS: z.string().optional().meta({
    description: 'Module that exports `actions`, for programs of your own.',
    example: './my-actions.ts',
  }),
  USSD_PROGRAMS: z.string().optional().meta({
    description:
      'Folder of a program, or a folder of several: each has a `program.yaml` that names its service codes. The bundled program is then not served.',
    example: './programs',
  }),
  PROGRAMS_READONLY: envBoolean()
    .prefault('false')
    .meta({ description: 'Refuse to draft, publish, roll back and withdraw programs, by route and by command.' }),
  USSD_HTTP_ALLOWED_HOSTS: envList().prefault('').meta({
    description:
      'Hosts (`name` or `name:port`) that programs may call although they have a private address or no TLS, comma separated.',
    example: 'prices.internal,127.0.0.1:8081',
  }),
  USSD_UNKNOWN_CODE_TEXT: envScreen().prefault('This code is not in service. Please check it and dial again.').meta({
    description: 'What callers of a service code read that no program of USSD_PROGRAMS answers.',
    example: "Ce code n'est pas en service. Merci de verifier et de rappeler.",
  }),
  USSD_WATCH_MENUS: envBoolean()
    .prefault('true')
    .meta({ description: 'Use changed programs without a restart, once they pass the check.' }),
  AGENT_URL: envUrl('http:', 'https:').optional().meta({
    description: 'Address of the agent service, for "Ask the assistant".',
    example: 'http://127.0.0.1:4000',
  }),
  ASSISTANT_WAIT_MS: envInteger({ min: 0, max: 60_000 })
    .prefault('5000')
    .meta({ description: 'How long a request waits for an answer before it offers to show it later.' }),
  FORMS_SERVER: envUrl('http:', 'https:').optional().meta({
    description:
      'Address of an OpenRosa server (ODK Central, KoBoToolbox) that completed forms are sent to and forms are fetched from.',
    example: 'https://central.example/v1/projects/7',
  }),
  FORMS_SERVER_USER: z.string().optional().meta({
    description: 'User at FORMS_SERVER, for Basic and Digest authentication.',
    example: 'gateway@example.org',
  }),
  FORMS_SERVER_PASSWORD: z
    .string()
    .optional()
    .meta({ description: 'Password of FORMS_SERVER_USER.', example: 'a-long-random-text', secret: true }),
  FORMS_REFRESH_MINUTES: envInteger({ min: 1, max: 10_080 })
    .prefault('15')
    .meta({ description: 'How often new versions of forms are fetched from FORMS_SERVER.' }),
  SMS_PROVIDER: z.enum(['file', 'africas-talking', 'twilio', 'webhook', 'smpp']).prefault('file').meta({
    description:
      'Who sends the SMS messages of programs; `smpp` sends them over SMPP_LINKS. `file` writes them to the folder `sms` of DATA_DIR, for development; in production the service does not start with it if a program sends messages, and does not publish such a program.',
    example: 'africas-talking',
  }),
  SMS_URL: envUrl('http:', 'https:').optional().meta({
    description: 'Address of the webhook; for the other providers, their address when it is not the public one.',
    example: 'https://sms.example/messages',
  }),
  SMS_USER: z
    .string()
    .optional()
    .meta({ description: "User name at Africa's Talking, account SID at Twilio.", example: 'sandbox' }),
  SMS_TOKEN: z.string().optional().meta({
    description: "API key of Africa's Talking, auth token of Twilio, bearer token of the webhook.",
    example: 'a-long-random-text',
    secret: true,
  }),
  SMS_FROM: z.string().optional().meta({
    description: 'Sender id or number; for Twilio also a messaging service (`MG…`).',
    example: '+15005550006',
  }),
  SMS_PER_DAY: envInteger({ min: 1, max: 100_000 }).prefault('10').meta({
    description: 'Messages that one number gets, and that one caller causes, in 24 hours; beyond it they are refused.',
  }),
  PUSH_QUIET_HOURS: z
    .string()
    .regex(/^(?:1?\d|2[0-3])-(?:1?\d|2[0-4])$/, 'must be two hours such as 20-8')
    .prefault('20-8')
    .meta({
      description: 'Hours, in the time zone of `TZ`, in which no session is opened at a phone by the service.',
      example: '21-7',
    }),
  ...gatewayVariables,
  USSD_SIGNING_KEY: envSigningKey(),
  ...signingVariables,
  CLAIMS_COLLECTION: envCollection().optional().meta({
    description:
      'Collection of the protocol in which reports become claims, and claims of programs that name no other. If not set, nothing becomes a claim.',
    example: '1',
  }),
  CLAIMS_AGENT_DID: z.string().startsWith('did:', 'expected a DID').optional().meta({
    description: 'DID of the agent that submits claims; the account of USSD_SIGNING_KEY belongs to it.',
    example: 'did:x:zQ3shuu9ZMRFhxqLbgX5ysJYYKB1JKcJaHGgmCDE2sk6fdnRT',
  }),
  ...claimsVariables('/api/ussd/claims/process'),
  PAYOUT_DAILY_LIMIT: envCoin('50000000uixo')
    .refine(({ amount }) => amount < 10n ** 15n, 'expected an amount below 10^15')
    .transform(({ denom, amount }) => ({ denom, amount: String(amount) }))
    .optional()
    .meta({
      description:
        'What one account can send of its rewards in 24 hours, from the account of USSD_SIGNING_KEY, which collects them. If not set, rewards are not paid out.',
      example: '50000000uixo',
    }),
});

export type UssdConfig = Readonly<z.infer<typeof ussdConfigSchema>>;

function refuse(context: z.RefinementCtx, message: string): never {
  context.issues.push({ code: 'custom', message, input: undefined });
  return z.NEVER;
}

export function toBlockList(ranges: string[]): BlockList | undefined {
  if (ranges.length === 0) return undefined;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits, ...more] = range.split('/');
    const family = isIP(address);
    const most = family === 4 ? 32 : 128;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.POSITIVE_INFINITY;
    if (family === 0 || more.length > 0 || prefix > most) return undefined;
    list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

export const toProgramSecrets = (env: Env) => toSecrets(env, programSecretPrefix);

/** Programs and adapters name their secrets; no other variable can be read by one. */
export function toSecrets(env: Env, prefix: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      name.startsWith(prefix) && value !== undefined ? [[name.slice(prefix.length), value]] : [],
    ),
  );
}

/** 32 bytes as 64 hex digits or base64; a text of 32 characters is key material. `undefined` when it is none of these. */
export function parseKey(text: string): Buffer | undefined {
  const toKey = () => Buffer.from(hkdfSync('sha256', text, '', 'palaver pin key', 32));
  return parseKeyBytes(text) ?? (Array.from(text).length === 32 ? toKey() : undefined);
}
