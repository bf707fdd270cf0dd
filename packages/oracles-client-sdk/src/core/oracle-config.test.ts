import { freePort } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createUser, startAgent } from '../../test/start-agent.ts';
import { price, startProtocol } from '../../test/start-protocol.ts';
import { createAgentApi } from './agent-api.ts';
import { publicGatewayUrl, resolveOracleConfig } from './oracle-config.ts';

// A DID is all the protocol has to know; nobody listens at this address.
const agent = { did: 'did:key:z6MkwDK3M4PxU1FqcSt4quXghquH1MoWXGzTrNkNWTSy2NLD', url: 'http://agent.example:4000' };
let gateway: Awaited<ReturnType<typeof startProtocol>>;

beforeAll(async () => {
  gateway = await startProtocol(agent);
});
afterAll(() => gateway?.[Symbol.asyncDispose]());

describe("an agent's config", () => {
  it('comes from its entity on the protocol', async () => {
    expect(await resolveOracleConfig({ oracleDid: agent.did, gatewayUrl: `${gateway.url}/` })).toEqual({
      apiUrl: agent.url,
      socketUrl: agent.url,
      oracleName: 'Test agent',
      model: 'offline',
      price,
      payee: expect.stringMatching(/^ixo1/),
    });
  });

  it('comes from a gateway that asks for a key and has another prefix; a key that it refuses is a fault of the configuration', async () => {
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const url = String(input);
      if (!url.startsWith(gateway.url)) return globalThis.fetch(input, init);
      const isAdmitted = new Headers(init?.headers).get('x-api-key') === 'right' && url.includes('/protocol/entity/');
      if (!isAdmitted) return Response.json({ statusCode: 401, message: 'no' }, { status: 401 });
      return globalThis.fetch(url.replace('/protocol/', '/ixo/'), init);
    };
    const options = { oracleDid: agent.did, gatewayUrl: gateway.url, fetch };
    const gatewayAccess = { apiKey: 'right', prefix: '/protocol' };
    expect(await resolveOracleConfig({ ...options, gatewayAccess })).toMatchObject({ apiUrl: agent.url });
    const refused = { code: 'GATEWAY_ACCESS', status: 401, message: expect.stringContaining('gatewayAccess') };
    for (const access of [undefined, { ...gatewayAccess, apiKey: 'wrong' }])
      await expect(resolveOracleConfig({ ...options, gatewayAccess: access })).rejects.toMatchObject(refused);
  });

  it('takes a socket address from elsewhere', async () => {
    const overrides = { wsUrl: 'wss://sockets.example' };
    const config = await resolveOracleConfig({ oracleDid: agent.did, gatewayUrl: gateway.url, overrides });
    expect(config).toMatchObject({ apiUrl: agent.url, socketUrl: overrides.wsUrl });
  });

  it('asks nobody when its address is given', async () => {
    const overrides = { baseUrl: 'https://a.example' };
    expect(await resolveOracleConfig({ oracleDid: 'did:x:y', overrides })).toEqual({
      apiUrl: 'https://a.example',
      socketUrl: 'https://a.example',
    });
  });

  it.each([
    ['there is no such agent', 'did:ixo:entity:none', { status: 404 }],
    ['an entity is no agent', 'did:ixo:entity:3ac60a1ffba9ab6c24d8bb0a3eac1ff9', { name: 'OracleError' }],
  ])('says when %s', async (_name, oracleDid, error) => {
    await expect(resolveOracleConfig({ oracleDid, gatewayUrl: gateway.url })).rejects.toMatchObject(error);
  });

  it("is the document of a did:web, from the DID's own host", async () => {
    const asked: string[] = [];
    const service = [
      { id: '#oracleService', type: 'oracleService', serviceEndpoint: 'https://agent.example/api' },
      { id: '#wsService', type: 'wsService', serviceEndpoint: 'wss://agent.example' },
    ];
    const fetch: typeof globalThis.fetch = async (url) => {
      asked.push(String(url));
      return Response.json({ id: 'did:web:agent.example', service });
    };
    const addresses = { apiUrl: 'https://agent.example/api', socketUrl: 'wss://agent.example' };
    for (const did of ['did:web:agent.example', 'did:web:localhost%3A4000', 'did:web:agent.example:agents:ana'])
      expect(await resolveOracleConfig({ oracleDid: did, fetch })).toMatchObject(addresses);
    expect(asked).toEqual([
      'https://agent.example/.well-known/did.json',
      'http://localhost:4000/.well-known/did.json',
      'https://agent.example/agents/ana/did.json',
    ]);
  });

  it('of an agent with a did:web is all that a page needs to chat with it', async () => {
    const port = await freePort();
    const did = `did:web:127.0.0.1%3A${port}`;
    await using web = await startAgent({ PORT: String(port), ORACLE_DID: did });
    const config = await resolveOracleConfig({ oracleDid: did });
    expect(config).toMatchObject({ apiUrl: web.url, socketUrl: web.url });
    const { transport } = await createUser({ url: config.apiUrl, did });
    expect(await createAgentApi(transport).createSession()).toMatchObject({ oracleDid: did });
  });

  it("asks the page's own server, then the public gateway, where none is given", async () => {
    const asked: string[] = [];
    const entity = { iidDocument: { service: [{ type: 'oracleService', serviceEndpoint: agent.url }] } };
    const answers: Record<string, () => Response> = {
      'https://app.example': () => new Response('<!doctype html>'),
      [new URL(publicGatewayUrl).origin]: () => Response.json(entity),
    };
    const fetch: typeof globalThis.fetch = async (url) => {
      const { origin } = new URL(String(url));
      asked.push(origin);
      return answers[origin]?.() ?? new Response('', { status: 500 });
    };
    const location = { origin: 'https://app.example', href: 'https://app.example/' };
    vi.stubGlobal('location', location);
    try {
      expect((await resolveOracleConfig({ oracleDid: agent.did, fetch })).apiUrl).toBe(agent.url);
      expect(asked).toEqual(['https://app.example', new URL(publicGatewayUrl).origin]);
      answers['https://app.example'] = () => Response.json(entity);
      await resolveOracleConfig({ oracleDid: agent.did, fetch });
      expect(asked).toHaveLength(3);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it('says when the gateway cannot be reached', async () => {
    const away = { oracleDid: agent.did, gatewayUrl: 'http://127.0.0.1:1', retryForMs: 0 };
    await expect(resolveOracleConfig(away)).rejects.toThrow();
  });

  it('is asked for again while the gateway starts', async () => {
    let asked = 0;
    const starting: typeof fetch = async (url, init) => {
      asked += 1;
      return asked < 3 ? new Response('{}', { status: 503 }) : fetch(url, init);
    };
    const config = await resolveOracleConfig({ oracleDid: agent.did, gatewayUrl: gateway.url, fetch: starting });
    expect(config.apiUrl).toBe(agent.url);
  });

  it.each([
    ['javascript:alert(1)', 'ORACLE_UNREACHABLE'],
    ['ipfs://abc', 'ORACLE_UNREACHABLE'],
  ])('takes no address like %s', async (serviceEndpoint, code) => {
    const body = { entity: {}, iidDocument: { service: [{ type: 'oracleService', id: 'x', serviceEndpoint }] } };
    const fetch = async () => new Response(JSON.stringify(body));
    await expect(resolveOracleConfig({ oracleDid: 'did:x:y', gatewayUrl: 'http://g', fetch })).rejects.toMatchObject({
      code,
    });
  });
});
