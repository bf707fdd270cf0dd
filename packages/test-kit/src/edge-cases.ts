// What the contract says of every service: which address a rate limit counts, and who is an operator on this machine.
import { request } from 'node:http';

const trusts = { TRUST_PROXY_ENABLED: 'true' };

/** `same` are chains of `X-Forwarded-For` by which one client comes, `other` is another client's. */
export const forwardingCases: [name: string, env: Record<string, string>, same: [string, string], other?: string][] = [
  ['without a trusted proxy the header changes nothing', {}, ['192.0.2.1', '192.0.2.2']],
  [
    'the nearest proxy names the client',
    trusts,
    ['192.0.2.9, 192.0.2.1', '192.0.2.8, 192.0.2.1'],
    '192.0.2.1, 192.0.2.2',
  ],
  [
    'of two proxies the farther one names the client',
    { ...trusts, TRUST_PROXY_HOPS: '2' },
    ['192.0.2.9, 192.0.2.1, 10.0.0.1', '192.0.2.1, 10.0.0.2'],
    '192.0.2.1, 192.0.2.2, 10.0.0.1',
  ],
  [
    'the rightmost address outside the networks of the proxies is the client',
    { ...trusts, TRUST_PROXY_CIDRS: '127.0.0.1,10.0.0.0/8' },
    ['192.0.2.9, 192.0.2.1, 10.0.0.1', '192.0.2.1, 10.0.0.2, 10.0.0.1'],
    '192.0.2.1, 192.0.2.2, 10.0.0.1',
  ],
];

/** Of requests that come from this machine, but not from its user alone. */
export const foreignHeaders: Record<string, string>[] = [
  { 'x-forwarded-for': '127.0.0.1' },
  { forwarded: 'for=127.0.0.1' },
  { 'x-real-ip': '127.0.0.1' },
  { via: '1.1 proxy' },
  { 'client-ip': '127.0.0.1' },
  { 'true-client-ip': '127.0.0.1' },
  { 'cf-connecting-ip': '127.0.0.1' },
  { 'cdn-loop': 'cloudflare' },
  { 'x-envoy-external-address': '127.0.0.1' },
  { host: 'evil.example' },
  { origin: 'https://evil.example' },
  { 'sec-fetch-site': 'cross-site' },
];

/** By a client that sends any header, also `Host` and `Sec-Fetch-Site`. */
export function askStatus(url: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) =>
      response.resume().once('end', () => resolve(response.statusCode ?? 0)),
    );
    sent.once('error', reject).end();
  });
}
