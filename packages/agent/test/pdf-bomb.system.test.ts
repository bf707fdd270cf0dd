import { readdirSync, readFileSync } from 'node:fs';
import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createPdf, createPdfBomb, matrixToken, startHomeserver } from './homeserver.ts';
import { startAgentProcess } from './start-agent-process.ts';
import type { TestUser } from './test-agent.ts';

const megabyte = 1024 * 1024;
// procfs counts in pages.
const pageBytes = 4096;

/** The memory of a process and all its children, in megabytes. */
function measureTree(pid: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const stat = read(`/proc/${name}/stat`);
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const isInTree = (id: number | undefined): boolean =>
    id !== undefined && id > 0 && (id === pid || isInTree(parents.get(id)));
  const resident = (id: number) => Number(read(`/proc/${id}/statm`).split(' ')[1] ?? 0) * pageBytes;
  return [...parents.keys()].filter(isInTree).reduce((sum, id) => sum + resident(id), 0) / megabyte;
}

/** Empty for a process that has just ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

test.skipIf(process.platform !== 'linux')(
  'a PDF that unpacks to 3 GB is refused and takes less than 700 MB (needs Linux: reads /proc)',
  async () => {
    const home = await startHomeserver();
    await using agent = await startAgentProcess({ MATRIX_ALLOWED_HOSTS: home.host });
    const bomb = createPdfBomb(3_000);
    expect(bomb.length).toBeLessThan(4_000);
    home.media.set('bomb', bomb);
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    const before = measureTree(agent.pid);
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, measureTree(agent.pid));
    }, 50);
    const attachment = { mxcUri: 'mxc://home.example/bomb', filename: 'a.pdf', mimetype: 'application/pdf' };
    const body = { attachments: Array(4).fill(attachment), homeServer: home.url };
    const sent = user.send(
      'POST',
      `/messages/${sessionId}`,
      { message: 'read', ...body },
      { 'x-matrix-access-token': matrixToken },
    );
    // The service answers others meanwhile.
    expect((await user.send('GET', '/sessions')).status).toBe(200);
    expect(await sent).toMatchObject({
      status: 422,
      body: { code: 'ATTACHMENT_FAILED', message: expect.stringContaining('cannot be read') },
    });
    clearInterval(watch);
    await home.close();
    expect(peak).toBeGreaterThan(before);
    expect(peak - before).toBeLessThan(700);
  },
);

test('a user who sends many slow PDFs holds up no other', async () => {
  const home = await startHomeserver();
  await using agent = await startAgentProcess({ MATRIX_ALLOWED_HOSTS: home.host });
  home.media.set('bomb', createPdfBomb(3_000));
  home.media.set('letter', createPdf('the goats are well'));
  const [attacker, ana] = [await agent.createUser(), await agent.createUser()];
  const send = async (user: TestUser, file: string) => {
    const attachment = { mxcUri: `mxc://home.example/${file}`, filename: 'a.pdf', mimetype: 'application/pdf' };
    const body = { message: 'read', attachments: [attachment], homeServer: home.url };
    const path = `/messages/${await user.createSession()}`;
    return user.send('POST', path, body, { 'x-matrix-access-token': matrixToken });
  };
  let answered = 0;
  const attacks = Array.from({ length: 24 }, async () => {
    const reply = await send(attacker, 'bomb');
    answered += 1;
    return reply.body.message as string;
  });
  await waitFor('the first answer', () => answered > 0);
  expect((await send(ana, 'letter')).status).toBe(200);
  const messages = await Promise.all(attacks);
  await home.close();
  expect(messages.some((message) => message.includes('too many PDFs are waiting'))).toBe(true);
  expect(messages.some((message) => message.includes('cannot be read'))).toBe(true);
});
