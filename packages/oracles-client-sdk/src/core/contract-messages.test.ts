import { expect, test } from 'vitest';
import { createUser, payFirst, startAgent } from '../../test/start-agent.ts';
import { createAgentApi } from './agent-api.ts';
import { toClaimsPrice } from './contract-messages.ts';
import { toClaimIds } from './oracle-error.ts';

const price = { denom: 'uixo', amount: '2500' };

test('claims cost what the agent asks for each; those that are not open cost nothing', async () => {
  await using agent = await startAgent({ ...payFirst, CREDITS_CLAIM: '700' });
  const { transport } = await createUser(agent);
  const api = createAgentApi(transport);
  const { sessionId } = await api.createSession();
  const refusal = await transport
    .json(`/messages/${sessionId}`, { method: 'POST', body: { message: 'hello' } })
    .catch((error: unknown) => error);
  const [claimId = ''] = toClaimIds(refusal) ?? [];
  const open = await api.listClaims();
  expect(toClaimsPrice([claimId, 'settled'], open, price)).toEqual({ denom: 'uixo', amount: String(700 * 2500) });
  expect(toClaimsPrice(['settled'], open, price).amount).toBe('0');
});

test('an agent that lists no claims is paid its price for each', async () => {
  await using agent = await startAgent();
  const { transport } = await createUser(agent);
  const open = await createAgentApi(transport).listClaims();
  expect(toClaimsPrice(['a', 'b', 'b'], open, price)).toEqual({ denom: 'uixo', amount: '5000' });
});
