// What the log says about nodes that cannot be reached.
import { createSelfSignedCertificate, freePort, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { checkNode } from '../src/commands/check-gateway.ts';
import { frame, respond, type Script, startScriptedNode } from './scripted-node.ts';
import { startTestGateway } from './start-test-gateway.ts';

interface Line {
  msg: string;
  address?: string;
  cause?: string;
}

async function startLogged(address: string, ca?: string) {
  const lines: Line[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const env = { GATEWAY_UPSTREAMS: address, LOG_LEVEL: 'info' };
  const gateway = await startTestGateway(env, { ready: false, destination, ...(ca && { ca }) });
  return { gateway, lines, aboutNode: () => lines.filter((line) => line.address === address) };
}

test.each([
  ['a name that does not exist', () => 'tls://no-such-name.invalid:443', /ENOTFOUND|EAI_AGAIN/],
  ['a port where nobody listens', async () => `127.0.0.1:${await freePort()}`, /ECONNREFUSED/],
])('%s is logged once with its cause', async (_name, getAddress, cause) => {
  const address = await getAddress();
  const { gateway, aboutNode } = await startLogged(address);
  await using _closing = gateway;
  await waitFor('a line', () => aboutNode().length > 0);
  const attempts = Array.from({ length: 5 }, () => gateway.get('/fixture/item/1'));
  for (const { status } of await Promise.all(attempts)) expect(status).toBe(503);
  expect(aboutNode()).toMatchObject([{ msg: 'node cannot be reached', cause: expect.stringMatching(cause) }]);
});

test('an authority that is not trusted is logged with its cause', async () => {
  await using node = await startScriptedNode(() => undefined, { tls: createSelfSignedCertificate() });
  const { gateway, aboutNode } = await startLogged(`tls://localhost:${node.port}`);
  await using _closing = gateway;
  await waitFor('a line', () => aboutNode().length > 0);
  expect(aboutNode()).toMatchObject([{ cause: expect.stringContaining('self-signed certificate') }]);
});

test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a node that wants a client certificate over %s is logged with the cause, once, and reached when it wants none',
  async (maxVersion) => {
    const tls = createSelfSignedCertificate();
    const script: Script = (stream) => respond(stream, frame(Buffer.alloc(0)));
    const strict = await startScriptedNode(script, {
      tls: { ...tls, maxVersion, requestCert: true, rejectUnauthorized: true },
    });
    const address = `tls://localhost:${strict.port}`;
    const { gateway, aboutNode } = await startLogged(address, tls.cert);
    await using _closing = gateway;
    await waitFor('a line', () => aboutNode().length > 0);
    expect(aboutNode()[0]).toMatchObject({ cause: expect.stringMatching(/^TLS failed: [^:]*client certificate/) });
    await strict[Symbol.asyncDispose]();
    await using _lenient = await startScriptedNode(script, { tls, port: strict.port });
    await waitFor('the node', () => aboutNode().at(-1)?.msg.startsWith('node reached'));
    expect(aboutNode()).toHaveLength(2);
  },
);

test('plain text to a port of TLS, and TLS to a plain one, are named', async () => {
  await using secure = await startScriptedNode(() => undefined, { tls: createSelfSignedCertificate() });
  await using plain = await startScriptedNode(() => undefined);
  expect(await checkNode(secure.address)).toContain('it may expect TLS: then its address needs tls://');
  expect(await checkNode(`tls://${plain.address}`)).toContain(
    'the node does not speak TLS: its address needs no tls://',
  );
});

test('a node that is lost and comes back is logged once each time', async () => {
  const start = (port = 0) => startScriptedNode((stream) => respond(stream, frame(Buffer.alloc(0))), { port });
  const first = await start();
  const { gateway, aboutNode } = await startLogged(first.address);
  await using _closing = gateway;
  const said = () => aboutNode().map(({ msg }) => msg);
  await waitFor('the node', () => said().includes('node reached'));
  await first[Symbol.asyncDispose]();
  await waitFor('the loss', () => said().includes('node cannot be reached'));
  await using _second = await start(first.port);
  await waitFor('the return', () => said().includes('node reached again'));
  expect(said().filter((line) => line !== 'connection to a node lost')).toEqual([
    'node reached',
    'node cannot be reached',
    'node reached again',
  ]);
});

test('a node that ends its sessions again and again is logged with the cause, once', async () => {
  await using node = await startScriptedNode((stream) => respond(stream, frame(Buffer.alloc(0))));
  const { gateway, aboutNode } = await startLogged(node.address);
  await using _closing = gateway;
  for (let round = 0; round < 4; round += 1) {
    await waitFor('a session', () => node.sessions.size > 0);
    const [session] = node.sessions;
    session?.goaway(11, 0, Buffer.from('too_many_pings'));
    session?.destroy();
    await waitFor('its end', () => !node.sessions.has(session as never));
  }
  await waitFor('the return', () => aboutNode().at(-1)?.msg === 'node reached again');
  expect(aboutNode()).toMatchObject([
    { msg: 'node reached' },
    { msg: 'connection to a node lost', cause: expect.stringContaining('too_many_pings') },
    { msg: 'node reached again' },
  ]);
});
