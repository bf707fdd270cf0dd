import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createSelfSignedCertificate } from '@palaver/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { createSigners } from '../../test/tokens.ts';
import type { Signer } from '../signer.ts';
import { createDidResolver, createLookupLimits } from './resolve-did.ts';

let signer: Signer;
let servers: Server[];
let gatewayUrl: string;
let webHost: string;
let seen: string[];
let answer: RequestListener;
const trusted = getCACertificates('default');

beforeAll(async () => {
  [signer] = (await createSigners(1)) as [Signer];
  const listener: RequestListener = (request, response) => {
    seen.push(request.url ?? '');
    answer(request, response);
  };
  const certificate = createSelfSignedCertificate();
  setDefaultCACertificates([...trusted, certificate.cert]);
  const [http, https] = [createServer(listener), createSecureServer(certificate, listener)];
  servers = [http, https];
  for (const server of servers) await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  gatewayUrl = `http://localhost:${(http.address() as AddressInfo).port}`;
  webHost = `localhost:${(https.address() as AddressInfo).port}`;
});

afterAll(async () => {
  setDefaultCACertificates(trusted);
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  seen = [];
});

function documentOf(did: string): object {
  const publicKeyMultibase = signer.did().slice('did:key:'.length);
  return {
    id: did,
    verificationMethod: [{ id: `${did}#1`, type: 'Multikey', publicKeyMultibase }],
    authentication: [`${did}#1`],
  };
}

function sendJson(body: unknown): RequestListener {
  return (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

// One suite for the two ways to a document: what can go wrong on the wire is the same.
describe.each([
  [
    'a protocol DID',
    () => 'did:ixo:user:ana',
    '/ixo/did/dids/did:ixo:user:ana',
    (body: object): object => ({ iidDocument: body }),
  ],
  [
    'a did:web',
    () => `did:web:${webHost.replace(':', '%3A')}`,
    '/.well-known/did.json',
    (body: object): object => body,
  ],
])('%s', (_, name, path, wrap) => {
  const resolver = (timeoutMs = 3_000) => createDidResolver({ gatewayUrl, privateHosts: [webHost], timeoutMs });

  it('is given up where its server switches protocols', async () => {
    answer = (_request, response) => response.writeHead(101, { upgrade: 'other', connection: 'upgrade' }).end();
    expect(await resolver(2_000)(name())).toHaveProperty('error');
    // A request that came later would count for the next test.
    await expect.poll(() => seen).toEqual([path]);
  });

  it('resolves to the keys of its document', async () => {
    answer = sendJson(wrap(documentOf(name())));
    expect(await resolver()(name())).toEqual({ ok: [signer.did()] });
    expect(seen).toEqual([path]);
  });

  it.each<[string, RequestListener]>([
    ['a redirect', (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end()],
    ['an error', (_request, response) => response.writeHead(404).end('{}')],
    ['another one’s document', (request, response) => sendJson(documentOf('did:ixo:user:eve'))(request, response)],
    ['text that is not JSON', (_request, response) => response.end('<html>')],
    ['an empty body', (_request, response) => response.end()],
    ['a cut connection', (request) => request.socket.destroy()],
    [
      'an answer cut short',
      (_request, response) => response.writeHead(200, { 'content-length': 1000 }).end('{"id"') && response.destroy(),
    ],
  ])('is refused on %s', async (_case, listener) => {
    answer = listener;
    expect((await resolver()(name())).error?.message).toBeTypeOf('string');
    expect(seen).toEqual([path]);
  });

  it('is refused when its document is too large', async () => {
    const padded = (bytes: number) => sendJson(wrap({ ...documentOf(name()), pad: 'x'.repeat(bytes) }));
    answer = padded(60 * 1024);
    expect(await resolver()(name())).toHaveProperty('ok');
    answer = padded(64 * 1024);
    expect((await resolver()(name())).error?.message).toContain('too large');
  });

  it('is refused when no answer comes in time', async () => {
    answer = () => {};
    expect((await resolver(100)(name())).error?.message).toContain('no answer in time');
  });

  it('is refused when the answer only drips', async () => {
    answer = (request, response) => {
      const drip = setInterval(() => response.write(' '), 20);
      request.socket.once('close', () => clearInterval(drip));
    };
    expect((await resolver(150)(name())).error?.message).toContain('no answer in time');
  });
});

describe('protocol DIDs', () => {
  it.each<[string, (body: object) => object]>([
    ['iidDocument', (body) => ({ iidDocument: body })],
    ['didDocument', (body) => ({ didDocument: body })],
    ['document', (body) => ({ document: body })],
    ['nothing', (body) => body],
  ])('are found under %s', async (_, wrap) => {
    answer = sendJson(wrap(documentOf('did:x:ana')));
    expect(await createDidResolver({ gatewayUrl: `${gatewayUrl}/` })('did:x:ana')).toEqual({ ok: [signer.did()] });
  });

  it('cannot lead the request elsewhere', async () => {
    answer = sendJson({});
    await createDidResolver({ gatewayUrl })('did:x:a%2F..%2F..%2Fadmin');
    expect(seen).toEqual(['/ixo/did/dids/did:x:a%252F..%252F..%252Fadmin']);
  });

  it('are refused without a gateway, or when it is unreachable', async () => {
    expect(await createDidResolver()('did:x:ana')).toHaveProperty('error');
    expect(await createDidResolver({ gatewayUrl: 'http://127.0.0.1:1' })('did:x:ana')).toHaveProperty('error');
  });
});

describe('the memory of documents', () => {
  it('keeps keys for five minutes and failures for ten seconds', async () => {
    let clock = 1_000_000;
    const resolve = createDidResolver({ gatewayUrl, now: () => clock });
    answer = sendJson({});
    await resolve('did:x:ana');
    clock += 9_999;
    expect(await resolve('did:x:ana')).toHaveProperty('error');
    expect(seen).toHaveLength(1);
    answer = sendJson(documentOf('did:x:ana'));
    clock += 1;
    expect(await resolve('did:x:ana')).toHaveProperty('ok');
    clock += 299_999;
    expect(await resolve('did:x:ana')).toHaveProperty('ok');
    expect(seen).toHaveLength(2);
    clock += 1;
    await resolve('did:x:ana');
    expect(seen).toHaveLength(3);
  });

  it('shares one request among those who ask at once', async () => {
    answer = sendJson(documentOf('did:x:ana'));
    const resolve = createDidResolver({ gatewayUrl });
    await Promise.all(Array.from({ length: 20 }, () => resolve('did:x:ana')));
    expect(seen).toHaveLength(1);
  });

  it('bounds how many are looked up at once, and does not hold that against anyone', async () => {
    const waiting: (() => void)[] = [];
    answer = (request, response) =>
      waiting.push(() => sendJson(documentOf(request.url?.split('/').at(-1) ?? ''))(request, response));
    const resolve = createDidResolver({ gatewayUrl });
    const asked = Array.from({ length: 64 }, (_, index) => resolve(`did:x:${index}`));
    expect((await resolve('did:x:late')).error?.message).toContain('too many');
    await expect.poll(() => waiting.length).toBe(64);
    for (const reply of waiting) reply();
    for (const keys of await Promise.all(asked)) expect(keys).toHaveProperty('ok');
    answer = sendJson(documentOf('did:x:late'));
    expect(await resolve('did:x:late')).toHaveProperty('ok');
  });

  it('a did:key needs no one', async () => {
    const resolve = createDidResolver();
    expect(await resolve(signer.did())).toEqual({ ok: [signer.did()] });
    expect(await resolve('did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme')).toHaveProperty('error');
  });
});

it('a did:web that leads to a private address is not followed', async () => {
  answer = sendJson({});
  expect(await createDidResolver()(`did:web:${webHost.replace(':', '%3A')}`)).toHaveProperty('error');
  expect(seen).toEqual([]);
});

test('a client has four places at once, and gets them back', () => {
  const limits = createLookupLimits(100);
  const leaves = Array.from({ length: 4 }, () => limits.enter('a'));
  expect(leaves.every((leave) => leave !== null)).toBe(true);
  expect(limits.enter('a')).toBeNull();
  expect(limits.enter('b')).not.toBeNull();
  leaves[0]?.();
  expect(limits.enter('a')).not.toBeNull();
});

test('a client has a limit for each minute', () => {
  let now = 0;
  const limits = createLookupLimits(100, { perMinute: 3, now: () => now });
  const begin = () => {
    const leave = limits.enter('a');
    leave?.();
    return leave !== null;
  };
  expect([begin(), begin(), begin(), begin()]).toEqual([true, true, true, false]);
  expect(limits.enter('b')).not.toBeNull();
  now = 60_000;
  expect(begin()).toBe(true);
});

test('in no 60 seconds a client begins more than its limit', () => {
  let now = 59_000;
  const limits = createLookupLimits(100, { perMinute: 3, now: () => now });
  const begin = () => {
    const leave = limits.enter('a');
    leave?.();
    return leave !== null;
  };
  expect([begin(), begin(), begin()]).toEqual([true, true, true]);
  // Another minute of the clock, one second later.
  now = 60_000;
  expect(begin()).toBe(false);
  now = 118_999;
  expect(begin()).toBe(false);
  now = 119_000;
  expect(begin()).toBe(true);
});

test('all together have a bound, known by address or not', () => {
  const limits = createLookupLimits(2);
  const leave = limits.enter(undefined);
  expect(limits.enter('a')).not.toBeNull();
  expect(limits.enter('b')).toBeNull();
  leave?.();
  expect(limits.enter(undefined)).not.toBeNull();
});
