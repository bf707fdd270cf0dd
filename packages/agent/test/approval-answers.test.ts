import { createTempDir, engines } from '@palaver/test-kit';
import { describe, expect, it } from 'vitest';
import { answerOf, ask, pay } from './ask-approval.ts';
import { createBank, readPaid } from './bank-plugin.ts';
import { readUntil } from './read-frames.ts';
import { startTestAgent } from './test-agent.ts';

describe.each(engines)('answers to approvals on %s', (engine) => {
  it('that come at once are one answer: the tool runs once where it is yes, never where it is no', async () => {
    await using dir = await createTempDir();
    const paidFile = `${dir.path}/paid`;
    await using agent = await startTestAgent({ engine, plugins: [createBank(paidFile)] });
    const ana = await agent.createUser();
    for (let round = 0; round < 5; round += 1) {
      const amount = 50 + round;
      const { frames, asked } = await ask(ana, await ana.createSession(), pay(amount));
      const answers = Array.from({ length: 12 }, (_, index) => (index + round) % 2 === 0);
      const replies = await Promise.all(answers.map((approved) => answerOf(ana, asked, approved)));
      const done = (await readUntil(frames, 'done')).at(-1);
      expect(done?.data.status).toBe('complete');
      const taken = answers.filter((_, index) => replies[index]?.status === 200);
      expect(new Set(taken).size).toBe(1);
      expect(replies.filter(({ status }) => status !== 200).map(({ body }) => body.code)).toEqual(
        Array.from({ length: 12 - taken.length }, () => 'APPROVAL_ANSWERED'),
      );
      expect(readPaid(paidFile).filter((line) => line === `ben ${amount}`)).toHaveLength(taken[0] ? 1 : 0);
    }
  });

  it('of another run, even of the same user, and of a run that has ended approve nothing', async () => {
    await using dir = await createTempDir();
    const paidFile = `${dir.path}/paid`;
    await using agent = await startTestAgent({ engine, plugins: [createBank(paidFile)] });
    const ana = await agent.createUser();
    const [one, two] = [await ana.createSession(), await ana.createSession()];
    const [first, second] = [await ask(ana, one, pay(60)), await ask(ana, two, pay(70))];
    const { runId } = first.asked;
    const mixed = await answerOf(ana, { runId, approvalId: second.asked.approvalId }, true);
    expect(mixed).toMatchObject({ status: 404, body: { code: 'APPROVAL_NOT_FOUND' } });
    await ana.abort(one);
    await readUntil(first.frames, 'done');
    expect(await answerOf(ana, first.asked, true)).toMatchObject({ status: 409 });
    await answerOf(ana, second.asked, false);
    await readUntil(second.frames, 'done');
    expect(await answerOf(ana, second.asked, true)).toMatchObject({ status: 409, body: { code: 'APPROVAL_ANSWERED' } });
    expect(readPaid(paidFile)).toEqual([]);
  });
});
