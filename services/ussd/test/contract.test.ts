// Section 1 of the contract, row by row, where no other test does it: operators.test.ts, sessions.test.ts, accounts.test.ts,
// screen.test.ts, text-parts.test.ts and the recorded flows have the rest.
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createTempDir, forwardingCases, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startUssd } from '../src/main.ts';
import { phoneNumber, serviceCode, startService, type TestService, testKey } from './service-fixture.ts';

const invalid = 'END Invalid input. Please try again.';
const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

describe('the session endpoint', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service[Symbol.asyncDispose]());
  const send = (headers: Record<string, string>, body: string | Buffer) =>
    fetch(`${service.url}/api/ussd`, { method: 'POST', headers, body });
  const valid = { sessionId: 'v', serviceCode, phoneNumber, text: '' };

  test('replies in plain text with 200, the validation reply too', async () => {
    const good = await service.post(valid);
    expect([good.status, good.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await good.text()).toMatch(/^CON /);
    const bad = await service.post({ ...valid, phoneNumber: '12' });
    expect([bad.status, bad.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await bad.text()).toBe(invalid);
  });

  test('takes JSON and forms on the same path, extra fields are ignored', async () => {
    const fields = { ...valid, sessionId: 'form', networkCode: '63902' };
    expect(await (await send(json, JSON.stringify({ ...fields, extra: { deep: [1] } }))).text()).toMatch(
      /^CON Welcome/,
    );
    const body = new URLSearchParams({ ...fields, text: '1' }).toString();
    for (const type of [form['content-type'], 'Application/X-WWW-Form-URLencoded; charset=UTF-8']) {
      expect(await (await send({ 'content-type': type }, body)).text()).toMatch(/^CON About/);
    }
    expect(
      await (await send({ 'content-type': 'application/json; charset=utf-8' }, JSON.stringify(valid))).text(),
    ).toMatch(/^CON /);
    // A plus that was not escaped reads as a blank in a form.
    expect(
      await (await send(form, 'sessionId=plus&serviceCode=*1234%23&phoneNumber=+254700000001&text=')).text(),
    ).toMatch(/^CON /);
  });

  test.each([
    ['malformed JSON', json, '{"sessionId":'],
    ['an empty body', json, ''],
    ['an array', json, '[]'],
    ['a number', json, '3'],
    ['null', json, 'null'],
    ['an empty form', form, ''],
    [
      'a prototype',
      json,
      '{"__proto__":{"sessionId":"x","serviceCode":"*1#","phoneNumber":"+254700000001","text":""}}',
    ],
  ])('%s gets the validation reply', async (_, headers, body) => {
    const response = await send(headers, body);
    expect([response.status, await response.text()]).toEqual([200, invalid]);
  });

  test.each([
    [{ phoneNumber: '254700000001' }],
    [{ phoneNumber: '+0700000001' }],
    [{ phoneNumber: 254700000001 }],
    [{ phoneNumber: undefined }],
    [{ phoneNumber: '+123456' }],
    [{ phoneNumber: '+1234567890123456' }],
    [{ phoneNumber: '+254 700 000 001' }],
    [{ phoneNumber: '+254700000001\n' }],
    [{ serviceCode: '1234#' }],
    [{ serviceCode: '*1234' }],
    [{ serviceCode: '*12a#' }],
    [{ serviceCode: '**1#' }],
    [{ serviceCode: '*1*#' }],
    [{ serviceCode: '*123#\n' }],
    [{ serviceCode: '*١٢٣#' }],
    [{ serviceCode: `*${'1'.repeat(31)}#` }],
    [{ sessionId: '' }],
    [{ sessionId: 'a b' }],
    [{ sessionId: 'x'.repeat(101) }],
    [{ sessionId: 'é' }],
    [{ sessionId: 'a\u007f' }],
    [{ sessionId: ['a'] }],
    [{ text: '1'.repeat(183) }],
    [{ text: undefined }],
    [{ text: null }],
    [{ text: ['1'] }],
    [{ text: '1\u0000' }],
    [{ text: '1\n2' }],
    [{ text: '\u0085' }],
    [{ text: '😀'.repeat(183) }],
  ])('%j fails validation', async (change) => {
    expect(await (await service.post({ ...valid, ...change })).text()).toBe(invalid);
  });

  test.each([
    [{ serviceCode: '*1#' }],
    [{ serviceCode: `*${'1'.repeat(30)}#` }],
    [{ phoneNumber: '+1234567' }],
    [{ phoneNumber: '+123456789012345' }],
    [{ sessionId: '~:/?#[]@' }],
  ])('%j passes validation', async (change) => {
    const sessionId = `edge-${Object.values(change)}`;
    expect(await (await service.post({ ...valid, sessionId, ...change })).text()).toMatch(/^CON /);
  });

  test('182 characters of text are counted in code points', async () => {
    const text = `2*1*${'😀'.repeat(178)}`;
    expect(await service.say('long', text)).toContain('A name has 2 to 40 letters.');
    expect(await service.say('x'.repeat(100), '')).toMatch(/^CON /);
  });

  test('another content type is 415, a body over 16 KiB 413, both as error bodies', async () => {
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x']) {
      const response = await send({ 'content-type': type }, 'x');
      expect(await response.json()).toMatchObject({ statusCode: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
    }
    const unread: Record<string, string>[] = [
      { 'content-encoding': 'gzip' },
      { 'content-type': 'application/json; charset=utf-16' },
    ];
    for (const headers of unread) expect((await send({ ...json, ...headers }, JSON.stringify(valid))).status).toBe(415);
    const large = await send(json, JSON.stringify({ ...valid, more: 'x'.repeat(17_000) }));
    expect([large.status, await large.json()]).toEqual([
      413,
      expect.objectContaining({ statusCode: 413, code: 'PAYLOAD_TOO_LARGE' }),
    ]);
  });

  test('a body that is not UTF-8 fails validation, and the charset that old libraries name is read', async () => {
    for (const headers of [json, form]) {
      const response = await send(headers, Buffer.from('{"text":"\xff"}', 'latin1'));
      expect([response.status, await response.text()]).toEqual([200, invalid]);
    }
    const old = { 'content-type': 'application/x-www-form-urlencoded; charset=ISO-8859-1' };
    const sent = new URLSearchParams({ ...valid, sessionId: 'old-library' }).toString();
    expect(await (await send(old, sent)).text()).toMatch(/^CON /);
  });

  test('what another dialect cannot read gets its reply', async () => {
    for (const headers of [{ 'content-encoding': 'gzip' }, { 'content-type': 'application/json; charset=utf-16' }]) {
      const init = { method: 'POST', headers: { ...json, ...headers }, body: '{"sessionID":"s"}' };
      const response = await fetch(`${service.url}/api/ussd/arkesel`, init);
      expect([response.status, await response.json()]).toEqual([
        200,
        { message: invalid.slice(4), continueSession: false },
      ]);
    }
  });

  test('unknown routes and methods get the shared error body', async () => {
    const response = await fetch(`${service.url}/api/ussd`);
    expect([response.status, await response.json()]).toEqual([
      404,
      expect.objectContaining({ statusCode: 404, error: 'Not Found', code: 'NOT_FOUND' }),
    ]);
  });

  test('x-request-id is echoed, and made where there is none', async () => {
    const given = await service.post(valid, { headers: { ...json, 'x-request-id': 'abc-1' } });
    expect(given.headers.get('x-request-id')).toBe('abc-1');
    expect((await service.post(valid)).headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
  });

  test('every reply fits the screen, the paged ones too', async () => {
    for (const text of ['', '1', '1*1', '1*2', '1*2*98', '1*3', '2', '2*3', '3', '4']) {
      expect((await service.say(`fit${text}`, text)).slice(4).length).toBeLessThanOrEqual(182);
    }
  });
});

describe('settings of the session endpoint', () => {
  test('PHONE_PLUS_OPTIONAL accepts and normalises digits only', async () => {
    await using service = await startService('sqlite', { PHONE_PLUS_OPTIONAL: 'true' });
    expect(await service.say('a', '', { phoneNumber: '254700000001' })).toMatch(/^CON /);
    expect(await service.say('a', '1', { phoneNumber: '+254700000001' })).toMatch(/^CON About/);
    expect(await service.say('b', '', { phoneNumber: '0700000001' })).toBe(invalid);
  });

  test('SERVICE_CODES is an allow-list', async () => {
    await using service = await startService('sqlite', { SERVICE_CODES: '*1234#, *55*1#' });
    expect(await service.say('a', '')).toMatch(/^CON /);
    expect(await service.say('b', '', { serviceCode: '*55*1#' })).toMatch(/^CON /);
    expect(await service.say('c', '', { serviceCode: '*55#' })).toBe(invalid);
  });

  test('USSD_SHARED_SECRET and USSD_ALLOWED_IPS refuse other callers with 403', async () => {
    await using secret = await startService('sqlite', { USSD_SHARED_SECRET: 'hush' });
    const body = { sessionId: 's', serviceCode, phoneNumber, text: '' };
    for (const headers of [json, { ...json, 'x-gateway-secret': 'wrong' }]) {
      const refused = await secret.post(body, { headers });
      expect([refused.status, await refused.json()]).toEqual([403, expect.objectContaining({ code: 'FORBIDDEN' })]);
    }
    expect((await secret.post(body, { headers: { ...json, 'x-gateway-secret': 'hush' } })).status).toBe(200);
    await using elsewhere = await startService('sqlite', { USSD_ALLOWED_IPS: '10.0.0.0/8,2001:db8::/32' });
    expect((await elsewhere.post(body)).status).toBe(403);
    await using here = await startService('sqlite', { USSD_ALLOWED_IPS: '127.0.0.0/8' });
    expect((await here.post(body)).status).toBe(200);
    await using proxied = await startService('sqlite', { USSD_ALLOWED_IPS: '10.0.0.0/8', TRUST_PROXY_ENABLED: 'true' });
    const through = (chain: string) => proxied.post(body, { headers: { ...json, 'x-forwarded-for': chain } });
    expect((await through('10.1.2.3')).status).toBe(200);
    expect((await through('10.1.2.3, 198.51.100.7')).status).toBe(403);
  });
});

describe('the rate limit', () => {
  const body = { sessionId: 's', serviceCode, phoneNumber, text: '' };

  test('is 100 a minute for an address over all limited routes; probes are exempt', async () => {
    await using service = await startService('sqlite', { RATE_LIMIT_PER_MINUTE: '' });
    const first = await service.post(body);
    expect(first.headers.get('ratelimit-limit')).toBe('100');
    expect(first.headers.get('ratelimit-remaining')).toBe('99');
    for (let i = 0; i < 48; i++) await service.get('/api/ussd/sessions');
    for (let i = 0; i < 51; i++) expect((await service.post({})).status).toBe(200);
    const over = await service.post(body, { headers: { ...json, 'x-forwarded-for': '10.9.8.7' } });
    expect([over.status, await over.json()]).toEqual([
      429,
      expect.objectContaining({ statusCode: 429, code: 'RATE_LIMITED' }),
    ]);
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await service.get('/api/ussd/sessions')).status).toBe(429);
    for (const path of ['/', '/health', '/metrics']) expect((await service.get(path)).status).toBe(200);
  });

  test.each(forwardingCases)('%s', async (_, env, same, other) => {
    await using service = await startService('sqlite', { RATE_LIMIT_PER_MINUTE: '1', ...env });
    const from = async (chain: string) =>
      (await service.post(body, { headers: { ...json, 'x-forwarded-for': chain } })).status;
    expect([await from(same[0]), await from(same[1])]).toEqual([200, 429]);
    if (other !== undefined) expect(await from(other)).toBe(200);
  });

  test('counts the forwarded address with TRUST_PROXY_ENABLED, and refused requests too', async () => {
    await using service = await startService('sqlite', {
      RATE_LIMIT_PER_MINUTE: '2',
      TRUST_PROXY_ENABLED: 'true',
      OPERATOR_TOKEN: 'op',
    });
    const from = (address: string) => service.get('/api/ussd/sessions', { 'x-forwarded-for': address });
    expect((await from('10.0.0.1')).status).toBe(401);
    expect((await from('10.0.0.1')).status).toBe(401);
    expect((await from('10.0.0.1')).status).toBe(429);
    expect((await from('203.0.113.9, 10.0.0.1')).status).toBe(429);
    expect((await from('10.0.0.2')).status).toBe(401);
  });
});

test('health and root', async () => {
  await using service = await startService();
  expect(await (await service.get('/')).json()).toEqual({
    status: 'ok',
    message: expect.stringMatching(/ running$/),
    environment: 'development',
    timestamp: expect.stringMatching(/Z$/),
  });
  const health = await service.get('/health');
  expect([health.status, await health.json()]).toEqual([
    200,
    {
      status: 'ok',
      environment: 'development',
      timestamp: expect.stringMatching(/Z$/),
      uptime: expect.any(Number),
      database: 'connected',
    },
  ]);
});

describe('the key of PINs', () => {
  test('is made in the data folder for development, readable by its owner alone', async () => {
    await using dir = await createTempDir();
    const env = { PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: dir.path };
    await (await startUssd(env)).close();
    expect(statSync(join(dir.path, 'pin-encryption.key')).mode & 0o777).toBe(0o600);
    await (await startUssd(env)).close();
  });

  test('is required in production, and a bad one is reported with every other fault', async () => {
    await using dir = await createTempDir();
    const env = { PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: dir.path, NODE_ENV: 'production' };
    await expect(startUssd(env)).rejects.toThrow('PIN_ENCRYPTION_KEY is not set');
    await (await startUssd({ ...env, PIN_ENCRYPTION_KEY: '9f3c71e5a8d02b64'.repeat(4) })).close();
    const another = startUssd({ ...env, PIN_ENCRYPTION_KEY: '0d5e82b7c4a1f936'.repeat(4) });
    await expect(another).rejects.toThrow('PIN_ENCRYPTION_KEY is not the key of this database.');
    const faulty = startUssd({
      ...env,
      PIN_ENCRYPTION_KEY: 'short',
      USSD_ALLOWED_IPS: '10.0.0/8',
      SERVICE_CODES: '12',
    });
    await expect(faulty).rejects.toThrow(
      /PIN_ENCRYPTION_KEY: expected 32 bytes[\s\S]*SERVICE_CODES[\s\S]*USSD_ALLOWED_IPS/,
    );
    await expect(faulty).rejects.not.toThrow('short');
  });
});

test('probes are answered whatever host they name, other routes are not', async () => {
  await using service = await startService();
  const { hostname, port } = new URL(service.url);
  const ask = (path: string, host: string) =>
    new Promise<number>((resolve, reject) => {
      const asked = request({ hostname, port, path, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      asked.on('error', reject).end();
    });
  for (const host of ['ussd.example', 'probe.internal:8080'])
    for (const path of ['/', '/health', '/ready', '/health?from=probe'])
      expect([path, await ask(path, host)]).toEqual([path, 200]);
  expect(await ask('/api/ussd/sessions', 'ussd.example')).toBe(403);
  expect(await ask('/metrics', 'ussd.example')).toBe(403);
  expect(await ask('/none', 'ussd.example')).toBe(403);
});

describe('production', () => {
  const key = '9f3c71e5a8d02b64'.repeat(4);
  const own = 'k3-q7xw5mz'.repeat(4);
  const start = async (env: Record<string, string>) => {
    await using dir = await createTempDir();
    const all = { PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: dir.path, PIN_ENCRYPTION_KEY: key, ...env };
    return startUssd(all).then(
      async (service) => {
        await service.close();
        return 'started';
      },
      (error: Error) => error.message,
    );
  };
  const behindProxy = { NODE_ENV: 'production', TRUST_PROXY_ENABLED: 'true', OPERATOR_TOKEN: own };

  test('behind a proxy does not start where every visitor could dial as any number', async () => {
    expect(await start(behindProxy)).toContain('USSD_SHARED_SECRET is not set');
    expect(await start({ ...behindProxy, TRUST_PROXY_ENABLED: 'YES' })).toContain('USSD_SHARED_SECRET is not set');
    for (const secret of ['0'.repeat(64), `${'A'.repeat(43)}=`, 'ab'.repeat(32)]) {
      const uniform = 'hardly any two of its characters differ';
      expect(await start({ ...behindProxy, USSD_SHARED_SECRET: secret })).toContain(`USSD_SHARED_SECRET: ${uniform}`);
      expect(await start({ ...behindProxy, PIN_ENCRYPTION_KEY: secret })).toContain(`PIN_ENCRYPTION_KEY: ${uniform}`);
    }
    expect(await start({ ...behindProxy, OPERATOR_TOKEN: '' })).toContain('OPERATOR_TOKEN is not set');
    expect(await start({ ...behindProxy, USSD_ALLOWED_IPS: ' , ' })).toContain('USSD_ALLOWED_IPS');
    expect(await start({ ...behindProxy, USSD_SHARED_SECRET: own })).toBe('started');
    expect(await start({ ...behindProxy, USSD_ALLOWED_IPS: '192.0.2.0/24' })).toBe('started');
    expect(await start({ ...behindProxy, USSD_ACCESS: 'network' })).toBe('started');
    expect(await start({ ...behindProxy, USSD_ACCESS: 'open' })).toContain('USSD_ACCESS="open": expected network');
  });

  test.each([
    'Production',
    ' production ',
    'PRODUCTION',
    '"production"',
    'prod',
    'production-eu',
    'live',
    'staging',
    '生产',
  ])('NODE_ENV=%j is production', async (name) => {
    expect(await start({ ...behindProxy, NODE_ENV: name })).toContain('USSD_SHARED_SECRET is not set');
  });

  test('a key of the documentation is refused in every spelling, under every name', async () => {
    const bytes = Buffer.from(testKey, 'hex');
    const spellings = [testKey.toUpperCase(), bytes.toString('base64'), bytes.toString('base64url')];
    for (const PIN_ENCRYPTION_KEY of spellings)
      expect(await start({ NODE_ENV: 'production', PIN_ENCRYPTION_KEY })).toContain('this is an example');
    expect(await start({ NODE_ENV: 'production', OPERATOR_TOKEN: ` ${testKey.toUpperCase()}` })).toContain(
      'OPERATOR_TOKEN: this is an example of the documentation',
    );
    expect(await start({ NODE_ENV: 'production', CLAIMS_SCHEDULER_SECRET: 'A-Long-Random-Text' })).toContain(
      'CLAIMS_SCHEDULER_SECRET: this is an example of the documentation',
    );
  });

  test('has no operator without a token: a proxy that names no client makes every visitor a local one', async () => {
    await using service = await startService('sqlite', { NODE_ENV: 'production', PIN_ENCRYPTION_KEY: key });
    const refused = await service.get('/api/ussd/sessions');
    expect([refused.status, (await service.get('/metrics')).status]).toEqual([401, 401]);
    expect(await refused.json()).toMatchObject({ message: expect.stringContaining('OPERATOR_TOKEN') });
  });

  test('without a secret takes no call that a proxy of this machine passes on', async () => {
    const open = { NODE_ENV: 'production', PIN_ENCRYPTION_KEY: key };
    await using service = await startService('sqlite', open);
    const dial = async (headers: Record<string, string>, { url } = service, path = '/api/ussd') => {
      const body = JSON.stringify({ sessionId: 'p', serviceCode, phoneNumber, text: '' });
      const response = await fetch(`${url}${path}`, { method: 'POST', headers: { ...json, ...headers }, body });
      return { status: response.status, text: await response.text() };
    };
    expect((await dial({})).text).toMatch(/^CON /);
    const named = ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'x-forwarded-proto', 'X-Real-IP', 'Via'];
    for (const header of named) {
      const { status, text } = await dial({ [header]: 'x' });
      expect([header, status]).toEqual([header, 403]);
      expect(JSON.parse(text)).toMatchObject({ message: expect.stringContaining('USSD_SHARED_SECRET') });
    }
    expect((await dial({ via: '1.1 x' }, service, '/api/ussd/arkesel')).status).toBe(403);
    // As nginx does unless it is configured otherwise.
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.end('POST /api/ussd HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n');
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.\d 403 /);
    for (const [env, headers] of [
      [{ USSD_SHARED_SECRET: own }, { 'x-gateway-secret': own }],
      [{ USSD_ACCESS: 'network' }, {}],
      [{ USSD_ALLOWED_IPS: '127.0.0.1' }, {}],
    ] as const) {
      await using known = await startService('sqlite', { ...open, ...env });
      expect((await dial({ ...headers, 'x-forwarded-for': '192.0.2.1' }, known)).text).toMatch(/^CON /);
    }
    await using development = await startService('sqlite');
    expect((await dial({ 'x-forwarded-for': '192.0.2.1' }, development)).text).toMatch(/^CON /);
  });
});

test('a request in flight is answered before the service closes', async () => {
  await using service = await startService();
  const body = JSON.stringify({ sessionId: 's', serviceCode, phoneNumber, text: '' });
  const received = Promise.withResolvers<void>();
  const closing = Promise.withResolvers<void>();
  const answered = new Promise<string>((resolve, reject) => {
    const headers = { ...json, expect: '100-continue' };
    const sent = request(`${service.url}/api/ussd`, { method: 'POST', headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
    });
    sent.on('error', reject);
    // The service has the head of the request.
    sent.on('continue', received.resolve);
    sent.write(body.slice(0, 20));
    void closing.promise.then(() => sent.end(body.slice(20)));
  });
  await received.promise;
  const closed = service.close();
  await waitFor('the port to close', () =>
    fetch(`${service.url}/health`).then(
      ({ ok }) => !ok,
      () => true,
    ),
  );
  closing.resolve();
  await closed;
  expect(await answered).toMatch(/^CON /);
});

test('a request that arrives too slowly is refused after REQUEST_TIMEOUT_SECONDS', async () => {
  await using service = await startService('sqlite', { REQUEST_TIMEOUT_SECONDS: '1' });
  const body = JSON.stringify({ sessionId: 's', serviceCode, phoneNumber, text: '' });
  const whole = [
    'POST /api/ussd HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
  // Complete after 25 s, which the default allows; slow in the head, and in the body alone.
  for (const begin of ['', whole.slice(0, -body.length)]) {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {});
    const rest = whole.slice(begin.length);
    let sent = 0;
    let reply = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      reply += chunk;
    });
    socket.write(begin);
    const drip = setInterval(() => {
      if (sent < rest.length) socket.write(rest.charAt(sent));
      sent += 1;
    }, 25_000 / rest.length);
    await once(socket, 'close');
    clearInterval(drip);
    expect(reply).toMatch(/^HTTP\/1.1 408 /);
    expect(sent).toBeLessThan(rest.length);
  }
});
