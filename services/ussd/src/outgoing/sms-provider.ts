import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '@palaver/service-kit';
import { AnswerTooLargeError, fetchBounded } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { UssdConfig } from '../config.ts';

/** The id is the same for every attempt. */
export type Sms = Record<'id' | 'to' | 'text', string>;

export type SmsResult =
  /** `reference`: the provider's own id, which its receipts name. */
  | { ok: true; reference?: string }
  /** `again`: it was not sent and may be later; `refused`: it never will be; `unknown`: no answer says which. */
  | { ok: false; kind: 'again' | 'refused' | 'unknown'; fault: string };

export interface SmsProvider {
  /** It sends a message with the same id once, so that one whose outcome is unknown may be sent again. */
  isIdempotent: boolean;
  send(message: Sms): Promise<SmsResult>;
}

type HttpProviderOptions = Record<'url' | 'user', string> & Record<'token' | 'from', string | undefined>;

/** Writes messages into a folder, one file each: for development. */
export function createFileProvider(folder: string): SmsProvider {
  return {
    isIdempotent: true,
    async send(message) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(join(folder, `${message.id}.json`), `${JSON.stringify(message)}\n`, { mode: 0o600 });
      return { ok: true };
    },
  };
}

/** Any server that takes JSON and knows a message by its `Idempotency-Key`. */
export function createWebhookProvider({ url, token, from }: HttpProviderOptions): SmsProvider {
  return {
    isIdempotent: true,
    send: (message) =>
      post(url, {
        headers: {
          'content-type': 'application/json',
          'idempotency-key': message.id,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ ...message, ...(from !== undefined && { from }) }),
      }),
  };
}

export function createTwilioProvider({ url, user, token = '', from = '' }: HttpProviderOptions): SmsProvider {
  const sender = { [from.startsWith('MG') ? 'MessagingServiceSid' : 'From']: from };
  const basic = Buffer.from(`${user}:${token}`).toString('base64');
  return {
    isIdempotent: false,
    send: ({ to, text }) =>
      post(`${url}/2010-04-01/Accounts/${encodeURIComponent(user)}/Messages.json`, {
        headers: { authorization: `Basic ${basic}` },
        body: new URLSearchParams({ To: to, Body: text, ...sender }),
      }),
  };
}

const recipientsSchema = z.object({
  SMSMessageData: z.object({
    Message: z.string(),
    Recipients: z.array(z.object({ statusCode: z.number(), status: z.string() })),
  }),
});
/** Insufficient balance, no route: what may be over later. */
const passing = [405, 407];
/** A fault at the provider, which may have sent the message. */
const inDoubt = [500, 501];

export function createAfricasTalkingProvider({ url, user, token = '', from }: HttpProviderOptions): SmsProvider {
  return {
    isIdempotent: false,
    send: ({ to, text }) =>
      post(
        `${url}/version1/messaging`,
        {
          headers: { apikey: token },
          body: new URLSearchParams({ username: user, to, message: text, ...(from !== undefined && { from }) }),
        },
        // A status of 201 says that the request was read; what became of the message is in the body.
        (body) => {
          const { Message, Recipients } = recipientsSchema.parse(JSON.parse(body)).SMSMessageData;
          const [recipient] = Recipients;
          if (!recipient) return { ok: false, kind: 'refused', fault: Message };
          const { statusCode, status } = recipient;
          if (statusCode >= 100 && statusCode < 103) return { ok: true };
          if (inDoubt.includes(statusCode)) return { ok: false, kind: 'unknown', fault: status };
          return { ok: false, kind: passing.includes(statusCode) ? 'again' : 'refused', fault: status };
        },
      ),
  };
}

const timeoutMs = 20_000;
const maxBytes = 64_000;
/** The request has not left this machine. */
const notConnected = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$|CERT|TLS/;

async function post(
  url: string,
  { headers, body }: { headers: Record<string, string>; body: string | URLSearchParams },
  read: (body: string) => SmsResult = () => ({ ok: true }),
): Promise<SmsResult> {
  try {
    const { status, text } = await fetchBounded(url, {
      method: 'POST',
      headers: { accept: 'application/json', ...headers },
      body,
      redirect: 'manual',
      timeoutMs,
      maxBytes,
    }).then(async (response) => ({ status: response.status, text: await response.text() }), toEmptyAnswer);
    if (status >= 200 && status < 300) return read(text);
    return { ok: false, kind: toKind(status), fault: `status ${status}` };
  } catch (error) {
    const { name, message, cause } = error as Error & { cause?: { code?: string; message: string } };
    if (name === 'TimeoutError') return { ok: false, kind: 'unknown', fault: 'no answer in time' };
    const isSent = !notConnected.test(cause?.code ?? '');
    return { ok: false, kind: isSent ? 'unknown' : 'again', fault: cause?.message ?? message };
  }
}

/** Of an answer that is too large its status is known, which says enough where nothing is read from the body. */
function toEmptyAnswer(error: unknown): { status: number; text: string } {
  if (error instanceof AnswerTooLargeError && error.status !== undefined) return { status: error.status, text: '' };
  throw error;
}

/** Any other fault of a server may come after it has passed the message on. */
function toKind(status: number): 'again' | 'refused' | 'unknown' {
  if ([401, 403, 425, 429, 503].includes(status)) return 'again';
  return status >= 500 || [408, 409].includes(status) ? 'unknown' : 'refused';
}

export function toSmsProvider(
  config: UssdConfig,
  smpp: { toProvider(from: string | undefined): SmsProvider } | undefined,
): SmsProvider {
  const { SMS_PROVIDER: name, SMS_URL, SMS_USER: user = '', SMS_TOKEN: token, SMS_FROM: from } = config;
  const need = (...variables: (keyof UssdConfig)[]) => {
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
    case 'smpp':
      if (!smpp) throw new StartError('SMS_PROVIDER=smpp needs SMPP_LINKS');
      return smpp.toProvider(from);
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
