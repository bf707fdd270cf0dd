import { createTempDir, engines, waitFor } from '@palaver/test-kit';
import { describe, expect, it } from 'vitest';
import { createScriptedModel } from '../src/index.ts';
import { createBank, readPaid } from './bank-plugin.ts';
import { createGate } from './gate-plugin.ts';
import { startTestAgent } from './test-agent.ts';

describe.each(engines)('an approval that is asked while another message waits, on %s', (engine) => {
  it('is refused by that message, which is answered after it', async () => {
    await using dir = await createTempDir();
    const paidFile = `${dir.path}/paid`;
    const gate = createGate();
    const model = createScriptedModel([
      { toolCalls: [{ name: 'gate' }] },
      { toolCalls: [{ name: 'pay', args: { to: 'ben', amount: 50 } }] },
      { text: 'I did not pay.' },
      { text: 'Hello.' },
    ]);
    const plugins = [createBank(paidFile), gate.plugin];
    await using agent = await startTestAgent({
      engine,
      plugins,
      model: () => model,
      env: { TURN_TIMEOUT_MS: '10000' },
    });
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const first = ana.say(sessionId, 'wait, then pay');
    await gate.reached();
    const second = ana.say(sessionId, 'hello');
    await waitFor('the second in the queue', async () => (await ana.messages(sessionId)).length === 2);
    gate.open();
    const { message } = (await second).body;
    expect(message).toMatchObject({ status: 'complete', content: 'Hello.' });
    expect((await first).body.message).toMatchObject({
      status: 'complete',
      content: 'I did not pay.',
      approvals: [{ status: 'refused', reason: 'The user sent another message instead.' }],
    });
    expect(readPaid(paidFile)).toEqual([]);
  });
});
