import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { price, startProtocol } from '../../test/start-protocol.ts';
import { resolveOracleConfig } from './oracle-config.ts';

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

  it('takes a socket address from elsewhere', async () => {
    const overrides = { wsUrl: 'wss://sockets.example' };
    const config = await resolveOracleConfig({ oracleDid: agent.did, gatewayUrl: gateway.url, overrides });
    expect(config).toMatchObject({ apiUrl: agent.url, socketUrl: overrides.wsUrl });
  });

  it('asks nobody when its address is given', async () => {
    const overrides = { baseUrl: 'https://a.example' };
    expect(await resolveOracleConfig({ oracleDid: 'did:x:y', gatewayUrl: undefined, overrides })).toEqual({
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

  it('says when there is no gateway to ask', async () => {
    const nowhere = { oracleDid: agent.did, gatewayUrl: undefined };
    await expect(resolveOracleConfig(nowhere)).rejects.toMatchObject({ code: 'GATEWAY_MISSING' });
    const away = { oracleDid: agent.did, gatewayUrl: 'http://127.0.0.1:1', patienceMs: 0 };
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
