import { defaultServiceCode } from '@palaver/contract/internal';

export interface PhoneOptions {
  url: string;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  phoneNumber: string;
  serviceCode?: string | undefined;
  /** Sent as X-Gateway-Secret, for servers that need it. */
  secret?: string | undefined;
  /** The operator's token, for servers that need one to say which questions are secret. */
  operatorToken?: string | undefined;
}

export interface Reply {
  text: string;
  ended: boolean;
}

const timeoutMs = 30_000;

/** Runs in browsers too. */
export function createPhone(options: PhoneOptions) {
  const { serviceCode: ownCode = defaultServiceCode, phoneNumber, secret, operatorToken: token } = options;
  let session = { sessionId: '', serviceCode: ownCode, text: '' };
  // biome-ignore lint/style/noRestrictedGlobals: fetchBounded does not run in browsers.
  const send = options.fetch ?? fetch;
  const request = (path: string, init: RequestInit) =>
    send(`${options.url}${path}`, { ...init, signal: AbortSignal.timeout(timeoutMs) });

  async function ask(): Promise<Reply> {
    const response = await request('/api/ussd', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(secret && { 'x-gateway-secret': secret }) },
      body: JSON.stringify({ ...session, phoneNumber }),
    });
    const body = await response.text();
    const match = /^(CON|END) ([\s\S]*)$/.exec(body);
    if (!match) throw new Error(`${options.url || 'the server'} answered ${response.status}: ${body.slice(0, 300)}`);
    return { text: match[2] ?? '', ended: match[1] === 'END' };
  }

  return {
    sessionId: () => session.sessionId,
    dial(serviceCode = ownCode) {
      session = { sessionId: `phone-${createId()}`, serviceCode, text: '' };
      return ask();
    },
    send(input: string) {
      session.text = session.text === '' ? input : `${session.text}*${input}`;
      return ask();
    },
    /** Whether the question on the screen asks for a secret; `undefined` if the server does not say. */
    async asksSecret() {
      const response = await request(`/api/ussd/debug/${session.sessionId}`, {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      if (!response.ok) return undefined;
      const { debugInfo } = (await response.json()) as { debugInfo: { context: { asksSecret?: boolean } } };
      return debugInfo.context.asksSecret;
    },
  };
}

export type Phone = ReturnType<typeof createPhone>;

export function formatReply({ text, ended }: Reply): string {
  return `${ended ? 'END' : 'CON'} ${text}`;
}

/** `crypto.randomUUID` is missing on pages served over plain HTTP from another machine. */
function createId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
