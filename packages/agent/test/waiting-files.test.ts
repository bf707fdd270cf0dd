import { appendFileSync, readFileSync } from 'node:fs';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createScriptedModel, type PendingSend, tool } from '../src/index.ts';
import { createTestPlugin } from '../src/plugins/test-plugin.ts';
import { answerOf, ask } from './ask-approval.ts';
import { createGate } from './gate-plugin.ts';
import { readUntil } from './read-frames.ts';
import { startTestAgent, type TestUser } from './test-agent.ts';

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
    input: z.object({}),
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
