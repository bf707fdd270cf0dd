import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createPdfBomb, matrixToken, startHomeserver } from './homeserver.ts';
import { startAgentProcess } from './start-agent-process.ts';

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
