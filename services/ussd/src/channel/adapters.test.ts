import { readdirSync, readFileSync } from 'node:fs';
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startService, type TestService } from '../../test/service-fixture.ts';
import type { UssdTables } from '../store/tables.ts';

interface Example {
  path: string;
  contentType: string;
  exchanges: { body: string; reply: string }[];
}

const folder = new URL('./examples/', import.meta.url);
const examples = readdirSync(folder).map((file) => ({
  file,
  example: parse(readFileSync(new URL(file, folder), 'utf8')) as Example,
}));

function send(service: TestService, { path, contentType }: Example, body: string): Promise<Response> {
  return fetch(`${service.url}${path}`, { method: 'POST', headers: { 'content-type': contentType }, body });
}

describe.each(engines)('telecom gateways on %s', (engine) => {
  test.each(examples)('$file', async ({ example }) => {
    await using service = await startService(engine);
    for (const { body, reply } of example.exchanges) {
      const response = await send(service, example, body);
      expect([response.status, await response.text()]).toEqual([200, reply]);
    }
  });

  test('texts accumulated for a gateway hold PINs: they are sealed, and gone after the end', async () => {
    await using service = await startService(engine);
    const arkesel = examples.find(({ file }) => file.startsWith('arkesel'))?.example;
    if (!arkesel) throw new Error('no example');
    const store = await openStore<UssdTables>(service.databaseUrl);
    const rows = () => store.db.selectFrom('ussd_input').selectAll().execute();
    for (const { body } of arkesel.exchanges.slice(0, 6)) await send(service, arkesel, body);
    expect(await rows()).toHaveLength(1);
    expect(JSON.stringify(await rows())).not.toContain('730915');
    await send(service, arkesel, arkesel.exchanges[6]?.body ?? '');
    expect(await rows()).toEqual([]);
    await store.close();
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

/** Adapters with a path of their own; that of `/api/ussd` has its refusals in the contract. */
const ownPaths = examples.filter(({ example }) => example.path !== '/api/ussd');

describe.each(ownPaths)('a call that is refused before it is read: $file', ({ example }) => {
  const [{ body }] = example.exchanges as [Example['exchanges'][number]];
  /** The reply of the example's first exchange with another text, and no further question. */
  const readReply = async (response: Response) => ({
    status: response.status,
    contentType: response.headers.get('content-type'),
    body: (await response.json()) as Record<string, unknown>,
  });

  test('another content type, and a body that is too large, get the validation reply in the dialect', async () => {
    await using service = await startService();
    const ordinary = await readReply(await send(service, example, body));
    const odd = await readReply(await send(service, { ...example, contentType: 'application/xml' }, body));
    const invalid = { message: 'Invalid input. Please try again.', continueSession: false };
    // What the reply repeats of the request is there, so that the gateway can show it to the right caller.
    expect(odd).toEqual({ ...ordinary, body: { ...ordinary.body, ...invalid } });
    const large = await readReply(await send(service, example, `${body.slice(0, -1)},"more":"${'x'.repeat(20_000)}"}`));
    expect(large).toEqual({ ...ordinary, body: invalid });
  });

  test('beyond the rate limit callers read that many are calling', async () => {
    await using service = await startService('sqlite', { RATE_LIMIT_PER_MINUTE: '1' });
    const ordinary = await readReply(await send(service, example, body));
    const response = await send(service, example, body);
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
    const response = await send(service, example, body);
    expect([response.status, await response.json()]).toEqual([403, expect.objectContaining({ code: 'FORBIDDEN' })]);
  });
});

/** A telecom gateway that sends only the newest input, for one session. */
function createArkeselPhone(service: TestService) {
  return async (fields: object) => {
    const fixed = { sessionID: 'x', userID: 'u', newSession: false, msisdn: '233544919953', userData: '1' };
    const response = await fetch(`${service.url}/api/ussd/arkesel`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...fixed, ...fields }),
    });
    return (await response.json()) as { message: string; continueSession: boolean };
  };
}
