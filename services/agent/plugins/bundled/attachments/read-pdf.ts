import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const timeoutMs = 20_000;
const maxMemoryMb = 256;

/**
 * The text of a PDF; undefined where it cannot be read. In a thread of its own with limits on time and memory: a file
 * made for the purpose may keep the reader busy for ever.
 */
export async function readPdf(bytes: Buffer): Promise<string | undefined> {
  const worker = new Worker(new URL('./pdf-worker.ts', import.meta.url), {
    workerData: new Uint8Array(bytes),
    // What the reader has to say about a stranger's file does not belong in our log.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
  });
  worker.on('error', () => {}); // also after the answer, when nobody waits any more
  try {
    const [text] = await once(worker, 'message', { signal: AbortSignal.timeout(timeoutMs) });
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  } finally {
    await worker.terminate();
  }
}
