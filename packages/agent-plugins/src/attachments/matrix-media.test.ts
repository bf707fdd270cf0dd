import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Homeserver, startHomeserver, matrixToken as token } from '../../../agent/test/homeserver.ts';
import { say, startOpenAiServer } from '../../../agent/test/openai-server.ts';
import { startTestAgent } from '../../../agent/test/test-agent.ts';
import { guardedGet, isAllowedFrom } from './matrix-media.ts';

let home: Homeserver;
beforeAll(async () => {
  home = await startHomeserver();
});
afterAll(() => home.close());

it('a homeserver that never answers is given up when the time is over', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const time = new AbortController();
  home.handle = (_request, response) => {
    response.on('close', resolve);
    time.abort();
    return true;
  };
  const work = guardedGet(new URL(home.url), {
    token,
    allowedHosts: [home.host],
    dnsServers: [],
    signal: time.signal,
    onBytes: () => {},
  });
  await expect(work).rejects.toThrow();
  await closed;
  home.handle = undefined;
});

it('a homeserver that switches protocols is given up when the time is over', async () => {
  home.handle = (_request, response) =>
    Boolean(response.writeHead(101, { upgrade: 'other', connection: 'upgrade' }).end());
  const work = guardedGet(new URL(home.url), {
    token,
    allowedHosts: [home.host],
    dnsServers: [],
    signal: AbortSignal.timeout(100),
    onBytes: () => {},
  });
  await expect(work).rejects.toThrow();
  home.handle = undefined;
});

it('a redirect to another host is followed without the token', async () => {
  const other = await startHomeserver();
  const model = await startOpenAiServer(say('Seen.'));
  const elsewhere = await startTestAgent({
    env: { LLM_BASE_URL: model.url, MATRIX_ALLOWED_HOSTS: `${home.host},${other.host}` },
  });
  try {
    other.handle = (_request, response) => Boolean(response.writeHead(200).end('from the other'));
    home.handle = (_request, response) => Boolean(response.writeHead(307, { location: `${other.url}/cdn/file` }).end());
    const attachment = { mxcUri: 'mxc://home.example/r', filename: 'r', mimetype: 'text/plain' };
    const user = await elsewhere.createUser();
    const reply = await user.send(
      'POST',
      `/messages/${await user.createSession()}`,
      { message: 'x', attachments: [attachment], homeServer: home.url },
      { 'x-matrix-access-token': token },
    );
    expect(reply.status).toBe(200);
    expect(other.seen).toEqual([{ path: '/cdn/file', authorization: undefined }]);
  } finally {
    home.handle = undefined;
    await elsewhere[Symbol.asyncDispose]();
    await model[Symbol.asyncDispose]();
    await other.close();
  }
});

it.each([
  ['https://matrix.internal/', 'https://matrix.internal/', true],
  ['https://matrix.internal/', 'http://10.0.0.5:8008/', true],
  ['https://public.example/', 'https://matrix.internal/', false],
  ['https://public.example/', 'http://matrix.internal:9100/metrics', false],
  ['https://matrix.internal/', 'http://10.0.0.5:22/', false],
])('whoever is at %s leads to the private address of %s: %s', (start, url, expected) => {
  expect(isAllowedFrom(new URL(start), new URL(url), ['matrix.internal', '10.0.0.5:8008'])).toBe(expected);
});
