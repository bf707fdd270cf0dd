import { callService } from '../api/call-service.ts';

export interface Reply {
  text: string;
  ended: boolean;
}

/** A phone and the telecom gateway behind it: it keeps the session and accumulates the text, as real ones do. */
export interface BrowserPhone {
  sessionId: string;
  dial(serviceCode: string): Promise<Reply>;
  send(input: string): Promise<Reply>;
}

export interface BrowserPhoneOptions {
  phoneNumber: string;
  /** Sent as X-Gateway-Secret, where the gateway asks for it. */
  secret: string;
}

export function createBrowserPhone({ phoneNumber, secret }: BrowserPhoneOptions): BrowserPhone {
  let serviceCode = '';
  let text = '';

  async function ask(sessionId: string): Promise<Reply> {
    const response = await callService('ussd-gateway', '/api/ussd', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(secret && { 'x-gateway-secret': secret }) },
      body: JSON.stringify({ sessionId, serviceCode, phoneNumber, text }),
      signal: AbortSignal.timeout(30_000),
    });
    return parseReply(await response.text());
  }

  const phone: BrowserPhone = {
    sessionId: '',
    dial(code) {
      phone.sessionId = `console-${createId()}`;
      serviceCode = code;
      text = '';
      return ask(phone.sessionId);
    },
    send(input) {
      text = text === '' ? input : `${text}*${input}`;
      return ask(phone.sessionId);
    },
  };
  return phone;
}

export function parseReply(body: string): Reply {
  const match = /^(CON|END) ([\s\S]*)$/.exec(body);
  if (!match) throw new Error(`The gateway's answer is no USSD reply: ${body.slice(0, 120)}`);
  return { text: match[2] ?? '', ended: match[1] === 'END' };
}

/** `crypto.randomUUID` is missing on pages served over plain HTTP from another machine. */
function createId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
