import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { phoneNumber, register, startService } from './service-fixture.ts';

const address = 'ixo1rvqvzf99azcyjtsawm3m6cqhqwl0gjml2tr2lf';

/** The query gateway's answers, as it prints them. */
async function startGateway(answers: Record<string, unknown>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const answer = answers[new URL(request.url ?? '/', 'http://x').pathname];
    response
      .writeHead(answer ? 200 : 503, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer ?? { code: 14 }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

async function link(url: string, body: unknown, phone = phoneNumber): Promise<Response> {
  return fetch(`${url}/api/ussd/accounts/${encodeURIComponent(phone)}/address`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

describe('balance and status', () => {
  test('shows coins, claims and tokens of the address an operator linked', async () => {
    await using gateway = await startGateway({
      '/cosmos/base/tendermint/v1beta1/syncing': { syncing: false },
      [`/cosmos/bank/v1beta1/balances/${address}`]: {
        balances: [{ denom: 'uixo', amount: '38500000' }],
        pagination: null,
      },
      '/ixo/claims/claims': {
        claims: [
          { agent_address: address, evaluation: { status: 'APPROVED' } },
          { agent_address: address, evaluation: null },
          { agent_address: 'ixo1other', evaluation: null },
        ],
      },
      [`/ixo/token/minter/${address}`]: { tokenDocs: [{ name: 'UMOJA-COOK' }] },
    });
    await using service = await startService('sqlite', { GATEWAY_URL: gateway.url });
    await register(service, 'r');
    expect(await service.say('a', '2*2*4071*1')).toContain('No protocol address is linked to your account yet.');
    expect((await link(service.url, { address })).status).toBe(200);
    expect(await service.say('b', '2*2*4071*1')).toContain(
      'Balance: 38.5 IXO\nClaims: 2, approved: 1\nTokens: UMOJA-COOK',
    );
    expect((await link(service.url, { address: null })).status).toBe(200);
    expect(await service.say('c', '2*2*4071*1')).toContain('No protocol address');
  });

  test('says so plainly when the gateway cannot be reached, and the rest works', async () => {
    const gateway = await startGateway({});
    await using service = await startService('sqlite', { GATEWAY_URL: gateway.url });
    await register(service, 'r');
    // Also to those without an address: nobody should think the balance is theirs to arrange when it is not.
    expect(await service.say('u', '2*2*4071*1')).toContain('Balances are not available right now.');
    await link(service.url, { address });
    expect(await service.say('a', '2*2*4071*1')).toContain(
      'Name: Ana\nStatus: active\nReports sent: 0\nBalances are not available right now.',
    );
    await gateway[Symbol.asyncDispose]();
    expect(await service.say('b', '2*2*4071*1')).toContain('Balances are not available right now.');
    expect(await service.say('b', '2*2*4071*1*0*2')).toContain('no reports yet');
  });

  test('only accounts and real addresses can be linked', async () => {
    await using service = await startService();
    expect((await link(service.url, { address })).status).toBe(404);
    await register(service, 'r');
    for (const bad of [{}, { address: 'nonsense' }, { address: 3 }])
      expect((await link(service.url, bad)).status).toBe(400);
    expect((await link(service.url, { address }, '12')).status).toBe(400);
  });
});
