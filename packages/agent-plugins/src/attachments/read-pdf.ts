import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { finished } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { fileURLToPath } from 'node:url';
import { createFairQueue, type QueueOwner } from '@palaver/service-kit/internal';

const timeoutMs = 20_000;
const heapMb = 192;
/**
 * Everything the process may write to, the reader's buffers outside the heap included. V8 reserves about 550 MB of it for
 * code, which it hardly uses.
 */
const dataKb = 1_000_000;
const maxCharacters = 20_000_000;
// A published package holds this file and the reader as JavaScript.
const reader = fileURLToPath(new URL('./pdf-reader.ts', import.meta.url)).replace(/\.ts$/, extname(import.meta.url));
const shell = '/bin/sh';

const queue = createFairQueue({ atOnce: 2, waiting: 16, waitingPerUser: 4 });

/**
 * The text of a PDF; `unreadable` where it has none that can be read, undefined if too many wait. In a process of its own
 * with hard limits on time and memory: a few kilobytes made for the purpose unpack to gigabytes or keep the reader busy for
 * ever.
 */
export function readPdf(bytes: Buffer, owner: QueueOwner): Promise<{ text: string } | 'unreadable' | undefined> {
  return queue.run(owner, async () => {
    const text = await readInProcess(bytes).catch(() => undefined);
    return text === undefined ? 'unreadable' : { text };
  });
}

async function readInProcess(bytes: Buffer): Promise<string | undefined> {
  const child = startReader();
  const end = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  try {
    const exited = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
    // A reader that ends early closes its input.
    child.stdin?.on('error', () => {}).end(bytes);
    const [text, code] = await Promise.all([readOutput(child), exited]);
    return code === 0 ? text : undefined;
  } finally {
    clearTimeout(end);
    child.kill('SIGKILL');
  }
}

/** The shell sets a limit of the kernel, which also holds for memory outside the heap. It is enforced on Linux. */
function startReader(): ChildProcess {
  const args = [`--max-old-space-size=${heapMb}`, reader];
  const limited = ['-c', `ulimit -d ${dataKb}; exec "$0" "$@"`, process.execPath, ...args];
  const [command, given] = existsSync(shell) ? [shell, limited] : [process.execPath, args];
  // Without the environment, which holds secrets; what it writes about the file is not logged.
  return spawn(command, given, { env: {}, stdio: ['pipe', 'pipe', 'ignore'] });
}

async function readOutput(child: ChildProcess): Promise<string> {
  const { stdout } = child;
  if (!stdout) return '';
  const decoder = new StringDecoder('utf8');
  let text = '';
  stdout.on('data', (chunk: Buffer) => {
    text += decoder.write(chunk);
    if (text.length > maxCharacters) child.kill('SIGKILL');
  });
  await finished(stdout);
  return text + decoder.end();
}
