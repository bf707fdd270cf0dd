import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { XlsFormFault } from './xlsform/xlsform-fault.ts';

export { XlsFormFault };

const timeoutMs = 30_000;
const resourceLimits = { maxOldGenerationSizeMb: 256 };
/** Settles with the conversion that runs, even if that fails: one runs at a time. */
let last: Promise<unknown> = Promise.resolve();
const known = new LRUCache<string, string>({ max: 50 });

/** Converts in a thread of its own and remembers the result. A form without settings gets the name of its file as its id. */
export function convertXlsForm(file: string, bytes: Uint8Array, maxBytes: number): Promise<string> {
  const converted = last.then(() => convert(file, bytes, maxBytes));
  last = converted.catch(() => {});
  return converted;
}

async function convert(file: string, bytes: Uint8Array, maxBytes: number): Promise<string> {
  const fileName = basename(file).replace(/\.\w+$/, '');
  const hash = createHash('sha256').update(`${fileName}\0`).update(bytes).digest('hex');
  const before = known.get(hash);
  if (before !== undefined) return before;
  const xml = await runWorker({ fileName, bytes });
  if (Buffer.byteLength(xml) > maxBytes)
    throw new XlsFormFault(`as XML it has ${Buffer.byteLength(xml)} bytes: a file has at most ${maxBytes}`);
  known.set(hash, xml);
  return xml;
}

/** A workbook comes from outside: one that takes too long or too much memory ends only its own thread. */
function runWorker(workerData: { fileName: string; bytes: Uint8Array }): Promise<string> {
  const worker = new Worker(new URL('./xlsform/xlsform-worker.ts', import.meta.url), { workerData, resourceLimits });
  return new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new XlsFormFault('it takes too long to convert')), timeoutMs);
    worker.once('message', ({ xml, fault }: { xml?: string; fault?: string }) =>
      xml === undefined ? reject(new XlsFormFault(fault)) : resolve(xml),
    );
    worker.once('error', (error) => reject(new XlsFormFault(`it cannot be converted: ${error.message}`)));
    worker.once('exit', () => clearTimeout(timer));
  }).finally(() => worker.terminate());
}
