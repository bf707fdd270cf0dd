export interface PhoneOptions {
  /** Base address of any server that speaks the USSD interface. */
  url: string;
  phoneNumber: string;
  serviceCode: string;
  /** Sent as X-Gateway-Secret, where the server asks for it. */
  secret?: string | undefined;
  /** Of an operator, where the server asks for one before it says which questions are secret. */
  operatorToken?: string | undefined;
}

export interface Reply {
  text: string;
  ended: boolean;
}

/** A phone and the telecom gateway between it and a server: it keeps the session and accumulates the text. */
export interface Phone {
  dial(serviceCode?: string): Promise<Reply>;
  send(input: string): Promise<Reply>;
  /** Whether the question on the screen asks for a secret; `undefined` where the server does not say. */
  asksSecret(): Promise<boolean | undefined>;
}

const timeoutMs = 30_000;

export function createPhone(options: PhoneOptions): Phone {
  let session = { sessionId: '', serviceCode: options.serviceCode, text: '' };

  async function ask(): Promise<Reply> {
    const response = await fetch(`${options.url}/api/ussd`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(options.secret !== undefined && { 'x-gateway-secret': options.secret }),
      },
      body: JSON.stringify({ ...session, phoneNumber: options.phoneNumber }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body = await response.text();
    const match = /^(CON|END) ([\s\S]*)$/.exec(body);
    if (!match) throw new Error(`${options.url} answered ${response.status}: ${body.slice(0, 300)}`);
    return { text: match[2] ?? '', ended: match[1] === 'END' };
  }

  return {
    dial(serviceCode = options.serviceCode) {
      session = { sessionId: `phone-${crypto.randomUUID()}`, serviceCode, text: '' };
      return ask();
    },
    send(input) {
      session.text = session.text === '' ? input : `${session.text}*${input}`;
      return ask();
    },
    async asksSecret() {
      const { operatorToken: token } = options;
      const response = await fetch(`${options.url}/api/ussd/debug/${session.sessionId}`, {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (!response.ok) return undefined;
      const { debugInfo } = (await response.json()) as { debugInfo: { context: { asksSecret?: boolean } } };
      return debugInfo.context.asksSecret;
    },
  };
}
