import { createBundledPlugins, createOracleApp } from '@palaver/agent-plugins';
import { createLogger, type Server } from '@palaver/service-kit';
import { createTempDir, createTestDatabase, type Engine, recordReplies, type Template } from '@palaver/test-kit';
import { createDelegation, createInvocation, createSigner, type Signer } from '@palaver/ucan';
import type { OracleAppOptions } from '../src/index.ts';
import { migrateAgent } from '../src/store/migrate.ts';

export const agentTemplate: Template = {
  name: 'agent',
  migrate: (url) => migrateAgent({ DATABASE_URL: url }, createBundledPlugins()),
};

export interface TestAgent extends AsyncDisposable {
  url: string;
  did: string;
  /** Empty unless an engine or a database was asked for. */
  databaseUrl: string;
  /** Every log line so far. */
  log(): string;
  /** Ends this process's part and starts again on the same database and key. */
  restart(): Promise<void>;
  createUser(signer?: Signer): Promise<TestUser>;
}

export interface Reply {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect.
  body: any;
}

export interface TestUser {
  did: string;
  signer: Signer;
  headers: Record<string, string>;
  invocation: string;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  createSession(): Promise<string>;
  say(sessionId: string, message: string, more?: Record<string, unknown>): Promise<Reply>;
  /** The response of a streamed send, its body unread. */
  stream(
    sessionId: string,
    message: string,
    more?: Record<string, unknown>,
    headers?: Record<string, string>,
  ): Promise<Response>;
  abort(sessionId: string): Promise<Reply>;
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect.
  messages(sessionId: string): Promise<any[]>;
  liveRun(sessionId: string): Promise<{ runId: string; status: string } | null>;
  /** The response of a resumed run, its body unread. */
  follow(runId: string, query?: string, headers?: Record<string, string>): Promise<Response>;
}

export interface TestAgentOptions extends Omit<OracleAppOptions, 'logger'> {
  /** On a database of its own of that kind. */
  engine?: Engine;
  /** On this database, beside whoever else uses it. */
  databaseUrl?: string;
  /** With the bundled plugins unless it is `createAgent`. */
  create?: typeof createOracleApp;
}

/** The whole service on a real port, on the embedded database in a folder of its own by default. */
export async function startTestAgent({
  engine,
  databaseUrl: shared,
  env,
  create = createOracleApp,
  ...options
}: TestAgentOptions = {}): Promise<TestAgent> {
  const dir = await createTempDir();
  const database = engine && (await createTestDatabase(engine, env?.DATA_ENCRYPTION_KEY ? undefined : agentTemplate));
  const databaseUrl = shared ?? database?.url ?? '';
  const key = (await createSigner()).toSecret();
  let log = '';
  const logger = createLogger({
    name: 'agent',
    level: 'trace',
    destination: {
      write(line: string) {
        log += line;
      },
    },
  });
  const start = async () => {
    let server: Server | undefined;
    const app = await create({
      ...options,
      hooks: {
        ...options.hooks,
        async addRoutes(added) {
          server = added;
          await options.hooks?.addRoutes?.(added);
        },
      },
      logger,
      env: {
        PORT: '0',
        DATA_DIR: dir.path,
        ORACLE_PRIVATE_KEY: key,
        SENDS_PER_MINUTE: '100000',
        // One Redis serves every test, and all of them come from one address.
        WRITES_PER_MINUTE_PER_ADDRESS: '1000000',
        CREDITS_FREE_USERS_PER_ADDRESS: '100000',
        ...(databaseUrl && { DATABASE_URL: databaseUrl }),
        ...env,
      },
    });
    const url = await app.listen();
    const replies = recordReplies(url);
    const close = async () => {
      await app.close();
      // Where it is not there, the start of the service had failed.
      if (server) replies.compare(server.swagger());
    };
    return { app, url, close };
  };
  let running = await start();

  return {
    get url() {
      return running.url;
    },
    did: running.app.did,
    databaseUrl,
    log: () => log,
    async restart() {
      await running.close();
      running = await start();
    },
    createUser: (signer) => createTestUser({ url: () => running.url, audience: running.app.did, signer }),
    async [Symbol.asyncDispose]() {
      await running.close();
      await database?.[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

export const chatCapability = { can: 'oracle/chat', with: 'ixo:oracle' } as const;

export async function delegate(
  issuer: Signer,
  audience: string,
  more: { expiration?: number; lifetimeSeconds?: number; notBefore?: number } = {},
): Promise<string> {
  return (await createDelegation({ issuer, audience, capabilities: [chatCapability], ...more })).serialized;
}

export async function request(url: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text };
}

export interface TestUserOptions {
  /** Asked on every call: an agent that starts again may have another. */
  url: () => string;
  /** The agent's DID. */
  audience: string;
  signer?: Signer | undefined;
}

/** Someone with a key and a fresh invocation, who calls an agent over HTTP. */
export async function createTestUser({ url, audience, signer: own }: TestUserOptions): Promise<TestUser> {
  const signer = own ?? (await createSigner());
  const minted = await createInvocation({ issuer: signer, audience, capability: chatCapability });
  const invocation = minted.serialized;
  const headers = { authorization: `Bearer ${invocation}`, 'x-auth-type': 'ucan' };
  const json = { ...headers, 'content-type': 'application/json' };
  const user: TestUser = {
    did: signer.did(),
    signer,
    headers,
    invocation,
    send: (method, path, body, more) =>
      request(`${url()}${path}`, {
        method,
        headers: body === undefined ? { ...headers, ...more } : { ...json, ...more },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    async createSession() {
      return (await user.send('POST', '/sessions')).body.sessionId;
    },
    say: (sessionId, message, more) => user.send('POST', `/messages/${sessionId}`, { message, ...more }),
    stream: (sessionId, message, more, own) =>
      fetch(`${url()}/messages/${sessionId}`, {
        method: 'POST',
        headers: { ...json, ...own },
        body: JSON.stringify({ message, stream: true, ...more }),
      }),
    abort: (sessionId) => user.send('POST', '/messages/abort', { sessionId }),
    messages: async (sessionId) => (await user.send('GET', `/messages/${sessionId}`)).body.messages,
    liveRun: async (sessionId) => (await user.send('GET', `/sessions/${sessionId}/run`)).body.run,
    follow: (runId, query = '', more = {}) =>
      fetch(`${url()}/runs/${runId}${query}`, { headers: { ...headers, ...more } }),
  };
  return user;
}
