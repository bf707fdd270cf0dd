import { appendFileSync, readFileSync } from 'node:fs';
import { createTempDir, engines, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createScriptedModel, type PendingSend, tool } from '../src/index.ts';
import { answerOf, ask } from './ask-approval.ts';
import { createGate } from './gate-plugin.ts';
import { collectFrames, readUntil } from './read-frames.ts';
import { startTestAgent, type TestUser } from './test-agent.ts';
import { createTestPlugin } from './test-plugin.ts';

const text = 'The harvest was 412 mangoes. '.repeat(1_000);

async function upload(user: TestUser): Promise<{ fileId: string; filename: string; mimetype: string }> {
  const { body } = await user.send('POST', '/files?filename=harvest.txt', text, { 'content-type': 'text/plain' });
  return { fileId: body.fileId, filename: 'harvest.txt', mimetype: 'text/plain' };
}

/** A plugin that sees the files of every message, and a tool that copies one once it is approved. */
function createCopier(copied: string) {
  const sent: PendingSend[] = [];
  const copy = tool({
    description: 'Copies the file.',
    inputSchema: z.object({}),
    needsApproval: true,
    execute(_args, { blobStore }) {
      appendFileSync(copied, blobStore.get('harvest.txt')?.bytes ?? '');
      return 'copied';
    },
  });
  const plugin = createTestPlugin({
    name: 'copier',
    softDependsOn: ['attachments'],
    getTools: () => ({ copy }),
    getMiddlewares: () => [{ beforeSend: (send) => void sent.push(send) }],
  });
  const bytesOf = (at: number) => sent[at]?.blobs.get('harvest.txt')?.bytes.length;
  return { plugin, bytesOf };
}

test('files are not in memory while their run waits for the user or for its place, and are read again', async () => {
  await using dir = await createTempDir();
  const copied = `${dir.path}/copied`;
  const { plugin, bytesOf } = createCopier(copied);
  const gate = createGate();
  const model = createScriptedModel([
    { toolCalls: [{ name: 'copy' }] },
    { text: 'Copied.' },
    { toolCalls: [{ name: 'gate' }] },
    { text: 'Through.' },
    ({ prompt }) => ({ text: JSON.stringify(prompt).includes('412 mangoes') ? 'Mangoes.' : 'Nothing.' }),
  ]);
  await using agent = await startTestAgent({ plugins: [plugin, gate.plugin], model: () => model });
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  const attach = async () => ({ attachments: [await upload(ana)] });

  const { frames, asked } = await ask(ana, sessionId, 'copy it', await attach());
  expect(bytesOf(0)).toBe(0);
  await answerOf(ana, asked, true);
  await readUntil(frames, 'done');
  expect(readFileSync(copied, 'utf8')).toBe(text);
  await waitFor('the end', () => bytesOf(0) === 0);

  const first = ana.say(sessionId, 'wait');
  await gate.reached();
  const queued = ana.say(sessionId, 'what is in it?', await attach());
  await waitFor('the second in the queue', () => bytesOf(2) === 0);
  gate.open();
  expect((await first).body.message.content).toBe('Through.');
  expect((await queued).body.message.content).toBe('Mangoes.');
});

test.each(engines)(
  'an approval of a message with files survives a restart on %s: they are read from the store',
  async (engine) => {
    await using dir = await createTempDir();
    const copied = `${dir.path}/copied`;
    const { plugin } = createCopier(copied);
    const model = createScriptedModel([{ toolCalls: [{ name: 'copy' }] }, { text: 'Copied.' }]);
    await using agent = await startTestAgent({ engine, plugins: [plugin], model: () => model });
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const attachments = [await upload(ana)];
    const { asked } = await ask(ana, sessionId, 'copy it', { attachments });
    await agent.restart();
    expect(await ana.liveRun(sessionId)).toMatchObject({ status: 'waiting', approvals: [{ toolName: 'copy' }] });
    await answerOf(ana, asked, true);
    expect((await collectFrames(await ana.follow(asked.runId))).at(-1)?.data.status).toBe('complete');
    expect(readFileSync(copied, 'utf8')).toBe(text);
    const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
    expect(prompt).toContain('412 mangoes');
  },
);

test('a file that was deleted while its run waited ends the run with a sentence that names it', async () => {
  await using dir = await createTempDir();
  const { plugin } = createCopier(`${dir.path}/copied`);
  const model = createScriptedModel([{ toolCalls: [{ name: 'copy' }] }, { text: 'Copied.' }]);
  await using agent = await startTestAgent({ plugins: [plugin], model: () => model });
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  const file = await upload(ana);
  const { asked } = await ask(ana, sessionId, 'copy it', { attachments: [file] });
  await agent.restart();
  expect((await ana.send('DELETE', `/files/${file.fileId}`)).status).toBeLessThan(300);
  await answerOf(ana, asked, true);
  const frames = await collectFrames(await ana.follow(asked.runId));
  expect(frames.find(({ event }) => event === 'error')?.data.error).toContain('harvest.txt');
  expect(frames.at(-1)?.data.status).toBe('failed');
});
