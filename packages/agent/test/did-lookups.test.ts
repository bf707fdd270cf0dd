// Tokens name hosts before anyone is authenticated: what a stranger can make the service look up.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startDnsServer, waitFor } from '@palaver/test-kit';
import { createInvocation, createSigner, type Signer } from '@palaver/ucan';
import { expect, test } from 'vitest';
import { type AgentProcess, startAgentProcess } from './start-agent-process.ts';
import { chatCapability, request } from './test-agent.ts';

async function send(agent: AgentProcess, issuer: Signer, more: { expiration?: number } = {}) {
  const token = await createInvocation({ issuer, audience: agent.did, capability: chatCapability, ...more });
  const headers = { authorization: `Bearer ${token.serialized}`, 'x-auth-type': 'ucan' };
  return await request(`${agent.url}/sessions`, { headers });
}

test('made-up did:web names neither flood the name server nor keep anyone else waiting', async () => {
  await using dns = await startDnsServer();
  const [owner, eve] = [await createSigner(), await createSigner()];
  const did = 'did:ixo:user:ana';
  await using gateway = await startGateway(did, owner);
  await using agent = await startAgentProcess({ DNS_SERVERS: dns.address, GATEWAY_URL: gateway.url });

  // Expired or for another audience: refused before any question is asked.
  const past = Math.floor(Date.now() / 1000) - 60;
  expect((await send(agent, eve.withDid('did:web:expired.example'), { expiration: past })).body.code).toBe(
    'UCAN_EXPIRED',
  );
  expect(dns.names()).toEqual([]);

  const attack = Array.from({ length: 100 }, (_, index) => send(agent, eve.withDid(`did:web:n${index}.example`)));
  await waitFor('the first questions', () => dns.names().length > 0);
  const user = await agent.createUser();
  expect((await user.send('GET', '/sessions')).status).toBe(200);
  // A look-up by name in the same process, at the query gateway.
  expect((await send(agent, owner.withDid(did))).status).toBe(200);

  const replies = await Promise.all(attack);
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([401, 429]));
  const limited = replies.filter(({ status }) => status === 429);
  expect(limited[0]).toMatchObject({ body: { code: 'RATE_LIMITED' } });
  expect(limited[0]?.headers.get('retry-after')).toBe('60');
  expect(dns.names().length).toBeLessThanOrEqual(30);
  // What is known to have no answer is not asked for again at once.
  const before = dns.names().length;
  const [name = ''] = dns.names();
  expect((await send(agent, eve.withDid(`did:web:${name}`))).status).toBe(401);
  expect(dns.names()).toHaveLength(before);
});

/** A query gateway that knows one DID; it is reached by a name, which the process has to look up. */
async function startGateway(did: string, owner: Signer): Promise<AsyncDisposable & { url: string }> {
  const publicKeyMultibase = owner.did().slice('did:key:'.length);
  const method = { id: `${did}#1`, type: 'Multikey', publicKeyMultibase };
  const iidDocument = { id: did, verificationMethod: [method], authentication: [method.id] };
  const server = createServer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', connection: 'close' })
      .end(JSON.stringify({ iidDocument }));
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
