import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { streamTurn } from '../../../agent/test/read-frames.ts';
import { startTestAgent, type TestAgent, type TestUser } from '../../../agent/test/test-agent.ts';

// A gateway at the wire: the paths of the protocol's query services, its bodies and its errors.
const known: Record<string, unknown> = {
  '/ixo/entity/did:ixo:entity:abc': { entity: { id: 'did:ixo:entity:abc', type: 'project' }, iidDocument: {} },
  '/ixo/entity': { entities: [], pagination: { next_key: null, total: '0' } },
  '/ixo/claims/claim/bafy1': { claim: { claim_id: 'bafy1' } },
  '/ixo/claims/claims': { claims: [{ claim_id: 'bafy1' }], pagination: { next_key: 'AAE=', total: '2' } },
  '/ixo/claims/collection/1': { collection: { id: '1' } },
  '/ixo/token/metadata/t1': { name: 'CARBON' },
  '/ixo/token/params': { params: { ixo1155_contract_code: '1' } },
  '/cosmos/bank/v1beta1/balances/ixo1abc': { balances: [{ denom: 'uixo', amount: '5' }], pagination: null },
  '/ixo/did/dids/did:ixo:abc': { iidDocument: { id: 'did:ixo:abc' } },
};

let seen: string[] = [];
const gateway = createServer((request, response) => answer(request, response));
const answerKnown: RequestListener = (request, response) => {
  seen.push(request.url ?? '');
  const body = known[new URL(request.url ?? '', 'http://gateway').pathname];
  const status = body === undefined ? 404 : 200;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body ?? { statusCode: 404, error: 'Not Found', message: 'x', code: 5, details: [] }));
};
let answer: RequestListener = answerKnown;
let agent: TestAgent;
let user: TestUser;

beforeAll(async () => {
  gateway.listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  const { port } = gateway.address() as AddressInfo;
  agent = await startTestAgent({ env: { GATEWAY_URL: `http://127.0.0.1:${port}/` } });
  user = await agent.createUser();
});

afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  gateway.closeAllConnections();
  await new Promise((resolve) => gateway.close(resolve));
});

async function useTool(name: string, args: object, who = user) {
  seen = [];
  const frames = await streamTurn(who, await who.createSession(), `/tool ${name} ${JSON.stringify(args)}`);
  expect(frames.at(-1)?.data.status).toBe('complete');
  return frames.findLast(({ event }) => event === 'tool_call')?.data;
}

describe('each tool asks its route', () => {
  it.each<[string, object, string]>([
    ['get_entity', { id: 'did:ixo:entity:abc' }, '/ixo/entity/did:ixo:entity:abc'],
    ['list_entities', {}, '/ixo/entity?pagination.limit=10'],
    ['get_claim', { id: 'bafy1' }, '/ixo/claims/claim/bafy1'],
    ['get_claims', { limit: 2, key: 'AA+=' }, '/ixo/claims/claims?pagination.limit=2&pagination.key=AA%2B%3D'],
    ['get_collection', { id: '1' }, '/ixo/claims/collection/1'],
    ['get_token', { id: 't1' }, '/ixo/token/metadata/t1'],
    ['get_token_params', {}, '/ixo/token/params'],
    ['get_balances', { address: 'ixo1abc' }, '/cosmos/bank/v1beta1/balances/ixo1abc'],
    ['resolve_did', { did: 'did:ixo:abc' }, '/ixo/did/dids/did:ixo:abc'],
  ])('%s', async (name, args, url) => {
    const { output } = await useTool(name, args);
    expect(seen).toEqual([url]);
    expect(output).toEqual(known[url.replace(/\?.*/, '')]);
  });

  it('and nothing in an argument leads to another', async () => {
    await useTool('get_claim', { id: '../claims?x=1#y' });
    expect(seen).toEqual(['/ixo/claims/claim/..%2Fclaims%3Fx%3D1%23y']);
    expect((await useTool('get_entity', { id: '../../health' })).error).toContain('expected a DID');
    expect(seen).toEqual([]);
  });
});

describe('what goes wrong is a sentence', () => {
  const withAnswer = async (listener: RequestListener) => {
    answer = listener;
    try {
      return (await useTool('get_claim', { id: 'bafy1' })).error;
    } finally {
      answer = answerKnown;
    }
  };
  const refuse =
    (status: number): RequestListener =>
    (_request, response) =>
      response.writeHead(status).end(JSON.stringify({ message: 'bad id', code: 3 }));

  it('an unknown id', async () => {
    expect((await useTool('get_claim', { id: 'none' })).error).toBe('TOOL_FAILED: the protocol has no claim none');
  });

  it('an unknown id of a module that gives its errors no code', async () => {
    const body = {
      statusCode: 500,
      message: 'codespace claims code 1100: claim not found: for bafy1',
      code: 2,
      reason: 'UNKNOWN',
      details: [],
    };
    expect(await withAnswer((_request, response) => response.writeHead(500).end(JSON.stringify(body)))).toBe(
      'TOOL_FAILED: the protocol has no claim bafy1',
    );
  });

  it.each([
    [400, 'TOOL_FAILED: the protocol refused the request: bad id'],
    [
      401,
      "TOOL_UNAVAILABLE: a fault of this agent's configuration: the query gateway does not take this service's credential; set GATEWAY_API_KEY or GATEWAY_UCAN to one that it admits",
    ],
    [501, 'TOOL_UNAVAILABLE: this protocol node does not support the query'],
    [503, 'TOOL_UNAVAILABLE: the protocol cannot answer at the moment'],
  ])('%i', async (status, message) => {
    expect(await withAnswer(refuse(status))).toBe(message);
  });

  it('an answer that is no JSON', async () => {
    expect(await withAnswer((_request, response) => response.end('<html>'))).toMatch(/^TOOL_UNAVAILABLE/);
  });

  it('silence', async () => {
    expect(await withAnswer(() => {})).toBe('TOOL_TIMEOUT: the protocol did not answer within 3 s');
  });

  it('a gateway that is not there', async () => {
    await using alone = await startTestAgent({ env: { GATEWAY_URL: `http://127.0.0.1:${await freePort()}` } });
    const { error } = await useTool('get_token_params', {}, await alone.createUser());
    expect(error).toBe('TOOL_UNAVAILABLE: the protocol cannot be reached at the moment');
  });
});

it('without GATEWAY_URL there are no such tools', async () => {
  await using alone = await startTestAgent();
  const other = await alone.createUser();
  const { body } = await other.say(await other.createSession(), '/tool get_token_params {}');
  expect(body.message.content).toContain('There is no tool');
});
