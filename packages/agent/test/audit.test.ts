import type { AuditLine } from '@palaver/contract/internal';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { delegate, startTestAgent } from './test-agent.ts';

describe.each(engines)('audit on %s', (engine) => {
  test('reads that are repeated leave one line a minute, and exports are limited', async () => {
    await using agent = await startTestAgent({ engine, env: { WRITES_PER_MINUTE_PER_ADDRESS: '40' } });
    const user = await agent.createUser();
    const statuses = [];
    for (let round = 0; round < 60; round += 1) {
      statuses.push((await user.send('GET', '/me/export')).status);
      await fetch(`${agent.url}/audit?limit=1&action=data.erased`);
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(40);
    expect(statuses.at(-1)).toBe(429);
    const { lines } = (await (await fetch(`${agent.url}/audit?limit=100`)).json()) as { lines: AuditLine[] };
    // The test may take longer than a minute.
    const count = (action: string) => lines.filter((line) => line.action === action).length;
    expect([1, 2, 3, 4]).toContain(count('data.exported'));
    expect([2, 3, 4, 5]).toContain(count('operator.read'));
  });

  test('credits booked, delegations and what operators read leave lines that name nobody', async () => {
    await using agent = await startTestAgent({ engine, env: { CREDITS_ENABLED: 'true' } });
    const user = await agent.createUser();
    const book = () =>
      fetch(`${agent.url}/credits/top-up`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ did: user.did, amount: 500, idempotencyKey: 'payment-1' }),
      });
    expect((await book()).status).toBe(200);
    expect((await book()).status).toBe(200);
    expect((await fetch(`${agent.url}/credits/accounts/${user.did}`)).status).toBe(200);
    const raw = await delegate(user.signer, agent.did);
    expect((await user.send('POST', '/delegation', { raw })).status).toBe(200);
    expect((await user.send('DELETE', '/delegation')).status).toBe(200);

    const subject = encodeURIComponent(user.did);
    const { lines } = (await (await fetch(`${agent.url}/audit?subject=${subject}`)).json()) as { lines: AuditLine[] };
    expect(lines.toReversed()).toMatchObject([
      { action: 'credits.booked', actor: 'operator:loopback', details: { amount: 500, payment: 'payment-1' } },
      { action: 'operator.read', details: { route: '/credits/accounts/:did' } },
      { action: 'delegation.stored', actor: lines[0]?.subject },
      { action: 'delegation.revoked', actor: lines[0]?.subject },
    ]);
    expect(JSON.stringify(lines)).not.toContain(user.did);
    expect((await fetch(`${agent.url}/audit`, { headers: { via: 'x' } })).status).toBe(401);
    expect((await user.send('GET', '/audit', undefined, { via: 'x' })).status).toBe(401);
  });
});
