import { createLogger } from '@palaver/service-kit';
import { createTempDir } from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { createOracleApp, type OracleApp, type OracleAppOptions } from '../create-oracle-app.ts';

export interface StreamEvent {
  name: string;
  id: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what came over the wire.
  data: any;
}

export interface Reply {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what came over the wire.
  body: any;
}

export type LiveAgent = Awaited<ReturnType<typeof startLiveAgent>>;

/** A whole agent that listens on a loopback port with a database of its own. */
export async function startLiveAgent(options: OracleAppOptions = {}) {
  const dir = await createTempDir();
  const logger = options.logger ?? createLogger({ name: 'agent', level: 'silent' });
  let app: OracleApp;
  try {
    app = await createOracleApp({
      ...options,
      logger,
      env: { DATA_DIR: dir.path, PORT: '0', SENDS_PER_MINUTE: '10000', ...options.env },
    });
  } catch (error) {
    await dir[Symbol.asyncDispose]();
    throw error;
  }
  const url = await app.listen();
  return {
    app,
    url,
    did: app.did,
    dataDir: dir.path,
    createUser: () => createUser(url, app.did),
    async [Symbol.asyncDispose]() {
      await app.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Somebody with a key and a token for the agent. */
async function createUser(url: string, audience: string) {
  const issuer = await createSigner();
  const { serialized: token } = await createInvocation({
    issuer,
    audience,
    capability: { can: 'oracle/call', with: 'ixo:oracle' },
  });
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'x-auth-type': 'ucan',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const request = async (...args: Parameters<typeof send>): Promise<Reply> => {
    const response = await send(...args);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
  return {
    did: issuer.did() as string,
    token,
    request,
    async createSession(): Promise<string> {
      return (await request('POST', '/sessions')).body.sessionId;
    },
    /** The whole stream of one turn. */
    async stream(sessionId: string, body: object, headers: Record<string, string> = {}): Promise<StreamEvent[]> {
      const response = await send('POST', `/messages/${sessionId}`, { ...body, stream: true }, headers);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status} ${text}`);
      return parseStream(text);
    },
  };
}

function parseStream(text: string): StreamEvent[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      const fields = new Map(
        frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      return {
        name: fields.get('event') ?? '',
        id: Number(fields.get('id')),
        data: JSON.parse(fields.get('data') ?? ''),
      };
    });
}

/** What the answer says, put together from its deltas. */
export function textOf(events: StreamEvent[]): string {
  return events.map(({ name, data }) => (name === 'message' ? data.content : '')).join('');
}

export function findEvent(events: StreamEvent[], name: string): StreamEvent['data'] {
  return events.find((event) => event.name === name)?.data;
}
