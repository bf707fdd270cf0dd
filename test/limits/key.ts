// A user with a key and a client address of their own: the whole of 127.0.0.0/8 is this machine.
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { createInvocation, createSigner, type Signer } from '@palaver/ucan';

export interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the cases know what they ask for.
  body: any;
}

export interface Asked {
  body?: unknown;
  headers?: Record<string, string>;
  /** Instead of the key's own. */
  address?: string;
}

export interface Key {
  signer: Signer;
  invocation: string;
  address: string;
  /** Reads the whole reply. */
  send(method: string, path: string, asked?: Asked): Promise<Reply>;
  /** Sends, and leaves the reply unread until `close`. */
  open(method: string, path: string, asked?: Asked): Promise<IncomingMessage>;
}

/** By status, how many replies there were; 0 where the connection failed. */
export type Statuses = Map<number, number>;

const agents = new Map<string, Agent>();

export function agentOf(address: string): Agent {
  const known = agents.get(address) ?? new Agent({ keepAlive: true, localAddress: address, timeout: 120_000 });
  agents.set(address, known);
  return known;
}

let addresses = 0;
/** Never used before. */
export function nextAddress(): string {
  addresses += 1;
  return `127.${1 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255 || 1}`;
}

export async function createKey(url: string, audience: string, statuses: Statuses): Promise<Key> {
  const signer = await createSigner();
  const capability = { can: 'oracle/chat', with: 'ixo:oracle' };
  const { serialized } = await createInvocation({ issuer: signer, audience, capability, lifetimeSeconds: 890 });
  const own = nextAddress();
  const count = (status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1);

  function open(method: string, path: string, { body, headers, address = own }: Asked = {}): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const isJson = body !== undefined && !Buffer.isBuffer(body);
      const sent = request(
        `${url}${path}`,
        {
          method,
          agent: agentOf(address),
          headers: {
            authorization: `Bearer ${serialized}`,
            'x-auth-type': 'ucan',
            ...(isJson && { 'content-type': 'application/json' }),
            ...headers,
          },
        },
        (reply) => {
          count(reply.statusCode ?? 0);
          resolve(reply);
        },
      );
      sent.once('error', (error) => {
        count(0);
        reject(error);
      });
      sent.end(isJson ? JSON.stringify(body) : (body as Buffer | undefined));
    });
  }

  return {
    signer,
    invocation: serialized,
    address: own,
    open,
    async send(method, path, asked) {
      try {
        const reply = await open(method, path, asked);
        const body = await text(reply);
        const isJson = reply.headers['content-type']?.startsWith('application/json');
        return { status: reply.statusCode ?? 0, body: isJson ? JSON.parse(body) : body };
      } catch {
        return { status: 0, body: {} };
      }
    },
  };
}

/** Does `work` for each of the items, so many at a time. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const left = [...items];
  const next = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

export interface World {
  url: string;
  did: string;
  keys: Key[];
  /** How often each key does it: what one key does many times, two hundred do a few times each. */
  share(ofOne: number, ofMany: number): number;
}

export async function createSession(key: Key): Promise<string> {
  return (await key.send('POST', '/sessions')).body.sessionId;
}

export const range = (count: number) => Array.from({ length: count }, (_, index) => index);
