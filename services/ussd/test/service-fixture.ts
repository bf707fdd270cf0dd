import { createTempDir, createTestDatabase, type Engine, type Template } from '@palaver/test-kit';
import { migrateUssdDatabase } from '../src/commands/database.ts';
// biome-ignore lint/style/noRestrictedImports: the tests of the whole service start it whole.
import { startUssd } from '../src/main.ts';

export const phoneNumber = '+254700000001';
export const serviceCode = '*1234#';

export interface TestService {
  url: string;
  databaseUrl: string;
  post(fields: Record<string, unknown>, init?: RequestInit): Promise<Response>;
  /** One request of a telecom gateway: the reply's text. */
  say(sessionId: string, text: string, fields?: Record<string, unknown>): Promise<string>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** Another instance of the service on the same database. */
  startAnother(env?: Record<string, string>): Promise<TestService>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const testKey = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';

export const ussdTemplate: Template = {
  name: 'ussd',
  migrate: (url) => migrateUssdDatabase({ DATABASE_URL: url }),
};

/** The whole service, listening, on a database without rows. */
export async function startService(engine: Engine = 'sqlite', env: Record<string, string> = {}): Promise<TestService> {
  const database = await createTestDatabase(engine, env.DATA_ENCRYPTION_KEY ? undefined : ussdTemplate);
  const dataDir = await createTempDir();
  const service = await startOn(database.url, { DATA_DIR: dataDir.path, ...env });
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      await service.close();
      await database[Symbol.asyncDispose]();
      await dataDir[Symbol.asyncDispose]();
    },
  };
}

async function startOn(databaseUrl: string, env: Record<string, string>): Promise<TestService> {
  const service = await startUssd({
    PORT: '0',
    LOG_LEVEL: 'silent',
    PIN_ENCRYPTION_KEY: testKey,
    RATE_LIMIT_PER_MINUTE: '1000000',
    DATABASE_URL: databaseUrl,
    USSD_WATCH_MENUS: 'false',
    ...env,
  });
  const others: TestService[] = [];
  let closing: Promise<void> | undefined;
  const post: TestService['post'] = (fields, init) =>
    fetch(`${service.url}/api/ussd`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fields),
      ...init,
    });
  const close = () => {
    closing ??= Promise.all(others.map((other) => other.close())).then(() => service.close());
    return closing;
  };
  return {
    url: service.url,
    databaseUrl,
    post,
    async say(sessionId, text, fields = {}) {
      const response = await post({ sessionId, serviceCode, phoneNumber, text, ...fields });
      if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
      return response.text();
    },
    get: (path, headers = {}) => fetch(`${service.url}${path}`, { headers }),
    async startAnother(more = {}) {
      const other = await startOn(databaseUrl, { ...env, ...more });
      others.push(other);
      return other;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The texts that register Ana with the PIN 4071, sent as one shortcut. */
export const registration = '2*1*Ana*4071*4071';

export function register(
  service: TestService,
  sessionId: string,
  fields: Record<string, unknown> = {},
): Promise<string> {
  return service.say(sessionId, registration, fields);
}

let pressingCalls = 0;

/** Dials and presses a key until a promise is settled, each time in a new session; gives how many were answered before. */
export async function pressUntil(
  service: TestService,
  end: Promise<unknown>,
  { text = '1', ...fields }: Record<string, string> = {},
): Promise<number> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  end.then(settle, settle);
  let answered = 0;
  for (; !isSettled; answered++) {
    const reply = await service.say(`pressing-${++pressingCalls}`, text, fields);
    if (!reply.startsWith('CON ')) throw new Error(`a caller was refused: ${reply}`);
  }
  return answered;
}
