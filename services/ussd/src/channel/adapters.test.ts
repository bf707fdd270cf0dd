import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { openStore } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startService, type TestService } from '../../test/service-fixture.ts';
import type { UssdTables } from '../store/tables.ts';

interface Example {
  path: string;
  method?: string;
  contentType: string;
  exchanges: { body?: string; query?: string; reply: string }[];
}

type Request = Partial<Example['exchanges'][number]>;

const folder = new URL('./examples/', import.meta.url);
const examples = readdirSync(folder).map((file) => ({
  file,
  example: parse(readFileSync(new URL(file, folder), 'utf8')) as Example,
}));

function send(
  service: TestService,
  { path, method = 'POST', contentType }: Example,
  request: Request,
): Promise<Response> {
  const url = `${service.url}${path}${request.query === undefined ? '' : `?${request.query}`}`;
  return fetch(url, {
    method,
    ...(request.body !== undefined && { headers: { 'content-type': contentType }, body: request.body }),
  });
}

describe.each(engines)('telecom gateways on %s', (engine) => {
  test.each(examples)('$file', async ({ example }) => {
    await using service = await startService(engine);
    for (const exchange of example.exchanges) {
      const response = await send(service, example, exchange);
      expect([response.status, await response.text()]).toEqual([200, exchange.reply]);
    }
  });

  test('texts accumulated for a gateway hold PINs: they are sealed, and gone after the end', async () => {
    await using service = await startService(engine);
    const arkesel = examples.find(({ file }) => file.startsWith('arkesel'))?.example;
    if (!arkesel) throw new Error('no example');
    const store = await openStore<UssdTables>(service.databaseUrl);
    const rows = () => store.db.selectFrom('ussd_input').selectAll().execute();
    for (const exchange of arkesel.exchanges.slice(0, 6)) await send(service, arkesel, exchange);
    expect(await rows()).toHaveLength(1);
    expect(JSON.stringify(await rows())).not.toContain('730915');
    await send(service, arkesel, arkesel.exchanges[6] ?? {});
    expect(await rows()).toEqual([]);
    await store.close();
  });

  test('a caller who hangs up has no open session and counts as one who left; the next call offers to continue', async () => {
    await using service = await startService(engine);
    await using second = await service.startAnother();
    const say = async (at: TestService, id: string, type: number, msg: string) => {
      const body = `<ussd><msisdn>264811234567</msisdn><sessionid>${id}</sessionid><type>${type}</type><msg>${msg}</msg></ussd>`;
      return (await send(at, { path: '/api/ussd/truroute', contentType: 'text/xml', exchanges: [] }, { body })).text();
    };
    await say(service, 'a', 1, '*134*77#');
    for (const key of ['2', '1']) await say(service, 'a', 2, key);
    expect(await say(service, 'a', 2, 'Kwame')).toContain('Choose a PIN');
    // The hang-up may reach another instance, and twice.
    for (const at of [second, second, service]) expect(await say(at, 'a', 3, '')).toBe('');
    expect(await (await service.get('/api/ussd/sessions')).json()).toEqual({ activeSessions: [], count: 0 });
    for (const at of [service, second]) expect((await at.get('/api/ussd/debug/a')).status).toBe(404);
    expect(await say(service, 'a', 2, '730915')).toContain('Invalid input');
    expect(await say(service, 'b', 1, '*134*77#')).toContain('Continue');
    const unknown = await service.get('/api/ussd/hollatags?session_id=%00&session_operation=end');
    expect([unknown.status, await unknown.json()]).toEqual([200, expect.objectContaining({ session_type: 4 })]);
    await waitFor(
      'the count',
      async () => {
        const response = await service.get('/api/ussd/programs/palaver/stats');
        const { states } = (await response.json()) as { states: { timedOut: number }[] };
        return states.reduce((sum, { timedOut }) => sum + timedOut, 0) === 1;
      },
      15_000,
    );
  });

  test('a later input from another number is refused', async () => {
    await using service = await startService(engine);
    const say = createArkeselPhone(service);
    await say({ newSession: true, userData: '*928#' });
    expect((await say({ msisdn: '233544919954' })).message).toBe('Invalid input. Please try again.');
    // Nor does a first request from there take the session over.
    const taken = await say({ newSession: true, userData: '*928#', msisdn: '233544919954' });
    expect(taken.message).toBe('Invalid input. Please try again.');
    expect((await say({})).message).toContain('About Palaver');
    // Not even once it has ended: then too it is open to its own number only.
    expect((await say({ userData: '*' })).message).toContain('Goodbye');
    expect((await say({ newSession: true, userData: '*928#', msisdn: '233544919954' })).message).toMatch(/^Invalid/);
    expect((await say({ newSession: true, userData: '*928#' })).message).toContain('Welcome');
    expect((await say({})).message).toContain('About Palaver');
    expect((await say({ sessionID: 'unknown' })).message).toBe('Invalid input. Please try again.');
    expect((await say({ userData: 7 })).message).toBe('Invalid input. Please try again.');
  });

  test('empty answers ask again, as often as they come', async () => {
    await using service = await startService(engine);
    const say = createArkeselPhone(service);
    await say({ newSession: true, userData: '*928#' });
    await say({ userData: '2' });
    expect((await say({ userData: '1' })).message).toContain('What is your name?');
    for (let i = 0; i < 3; i++) {
      const reply = await say({ userData: '' });
      expect(reply).toMatchObject({ continueSession: true, message: expect.stringMatching(/^Please type an answer/) });
    }
    expect((await say({ userData: 'Kofi' })).message).toContain('Choose a PIN');
    expect((await say({ userData: '*' })).continueSession).toBe(false);
  });

  test('a repeated request is answered again and counted once', async () => {
    await using service = await startService(engine);
    const second = await service.startAnother();
    const say = createArkeselPhone(service);
    await say({ newSession: true, userData: '*928#' });
    await say({ userData: '2' });
    // The gateway asks again before it has the reply.
    const twice = await sendTwice(service, { userData: '1' });
    expect(twice.match(/"message":"[^"]*"/g)).toEqual(
      Array(2).fill(String.raw`"message":"What is your name?\n0. Back\n*. Exit"`),
    );
    // The gateway hangs up and asks another instance.
    const lost = new AbortController();
    const sent = createArkeselPhone(service)({ userData: 'Kofi' }, lost.signal).catch(() => undefined);
    lost.abort();
    await sent;
    expect((await createArkeselPhone(second)({ userData: 'Kofi' })).message).toContain('Choose a PIN');
    // The same input once more is a new one as soon as the gateway has the reply.
    expect((await say({ userData: '730915' })).message).toContain('Enter the new PIN again');
    expect((await say({ userData: '730915' })).message).toContain('Welcome, Kofi!');
    const goodbye = await say({ userData: '*' });
    expect(await say({ userData: '*' })).toEqual(goodbye);
    expect((await say({ userData: '*', msisdn: '233544919954' })).message).toMatch(/^Invalid/);
  });

  test('an answer that contains a star is one answer', async () => {
    await using service = await startService(engine);
    const second = await service.startAnother();
    const say = createArkeselPhone(service);
    const sayThere = createArkeselPhone(second);
    await say({ newSession: true, userData: '*928#' });
    for (const [i, userData] of ['3*1', '1*', '**', '*1'].entries()) {
      expect((await (i % 2 ? sayThere : say)({ userData })).message).toMatch(/^Not a choice/);
    }
    expect((await sayThere({ userData: '1' })).message).toContain('About Palaver');
    expect((await say({ userData: '0' })).message).toContain('Welcome to Palaver');
  });
});

/** An adapter with a path of its own; that of `/api/ussd` has its refusals in the contract. */
const ownPaths = examples.filter(({ file }) => file === 'arkesel.yaml');

describe.each(ownPaths)('a call that is refused before it is read: $file', ({ example }) => {
  const [first] = example.exchanges as [Example['exchanges'][number]];
  const { body = '' } = first;
  /** The reply of the example's first exchange with another text, and no further question. */
  const readReply = async (response: Response) => ({
    status: response.status,
    contentType: response.headers.get('content-type'),
    body: (await response.json()) as Record<string, unknown>,
  });

  test('another content type, and a body that is too large, get the validation reply in the dialect', async () => {
    await using service = await startService();
    const ordinary = await readReply(await send(service, example, first));
    const odd = await readReply(await send(service, { ...example, contentType: 'application/xml' }, first));
    const invalid = { message: 'Invalid input. Please try again.', continueSession: false };
    // What the reply repeats of the request is there, so that the gateway can show it to the right caller.
    expect(odd).toEqual({ ...ordinary, body: { ...ordinary.body, ...invalid } });
    const large = await readReply(
      await send(service, example, { body: `${body.slice(0, -1)},"more":"${'x'.repeat(20_000)}"}` }),
    );
    expect(large).toEqual({ ...ordinary, body: invalid });
  });

  test('beyond the rate limit callers read that many are calling', async () => {
    await using service = await startService('sqlite', { RATE_LIMIT_PER_MINUTE: '1' });
    const ordinary = await readReply(await send(service, example, first));
    const response = await send(service, example, first);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(response.headers.get('ratelimit-remaining')).toBe('0');
    const busy = { message: expect.stringContaining('Many people are calling'), continueSession: false };
    expect(await readReply(response)).toEqual({ ...ordinary, body: { ...ordinary.body, ...busy } });
    // The error bodies of the shared contract stay where they belong.
    expect((await service.post({})).status).toBe(429);
    const metrics = await service.get('/metrics');
    expect(await metrics.text()).toContain('ussd_requests_total{outcome="limited",service="ussd"} 1');
  });

  test('a caller who is not the telecom gateway is refused as on every path', async () => {
    await using service = await startService('sqlite', { USSD_SHARED_SECRET: 'hush' });
    const response = await send(service, example, first);
    expect([response.status, await response.json()]).toEqual([403, expect.objectContaining({ code: 'FORBIDDEN' })]);
  });
});

const fixedFields = { sessionID: 'x', userID: 'u', newSession: false, msisdn: '233544919953', userData: '1' };

/** Two requests in one write: the second is there before the first is answered. */
async function sendTwice(service: TestService, fields: object): Promise<string> {
  const { hostname, port } = new URL(service.url);
  const body = JSON.stringify({ ...fixedFields, ...fields });
  const head = (connection: string) =>
    `POST /api/ussd/arkesel HTTP/1.1\r\nhost: ${hostname}\r\nconnection: ${connection}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const socket = connect(Number(port), hostname);
  socket.write(`${head('keep-alive')}${body}${head('close')}${body}`);
  return text(socket);
}

/** A telecom gateway that sends only the newest input, for one session. */
function createArkeselPhone(service: TestService) {
  return async (fields: object, signal: AbortSignal | null = null) => {
    const response = await fetch(`${service.url}/api/ussd/arkesel`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...fixedFields, ...fields }),
      signal,
    });
    return (await response.json()) as { message: string; continueSession: boolean };
  };
}
