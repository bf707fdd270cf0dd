import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startDevnode } from '@palaver/devnode';
import { startGateway } from '@palaver/gateway';
import { waitFor } from '@palaver/test-kit';

export const price = { denom: 'uixo', amount: '2500' };

/** The query gateway before a development node that knows the agent. */
export async function startProtocol(agent: { did: string; url: string }) {
  const quiet = { PORT: '0', LOG_LEVEL: 'silent' };
  const profile = {
    did: agent.did,
    apiUrl: agent.url,
    socketUrl: agent.url,
    name: 'Test agent',
    model: 'offline',
    price,
  };
  const node = await startDevnode(quiet, { agent: profile });
  const gateway = await startGateway({ ...quiet, GATEWAY_UPSTREAMS: node.address, CORS_ORIGIN: '*' });
  await waitFor('a node behind the gateway', async () => (await fetch(`${gateway.url}/health`)).ok);
  return {
    url: gateway.url,
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await node.close();
    },
  };
}

/** As much of a Matrix homeserver as OpenID tokens need. */
export async function startHomeserver() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-headers', 'authorization, content-type');
    if (request.method === 'OPTIONS') return response.end();
    asked.push(`${request.method} ${request.url}`);
    const isKnown = request.headers.authorization === 'Bearer matrix-token';
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
    const token = {
      access_token: `open-id-${asked.length}`,
      token_type: 'Bearer',
      matrix_server_name: 'hs',
      expires_in: 3600,
    };
    const known = request.url?.endsWith('/whoami') ? { user_id: '@ana:hs' } : token;
    return response.end(JSON.stringify(isKnown ? known : { errcode: 'M_UNKNOWN_TOKEN', error: 'Unknown token' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
