import { parentPort, workerData } from 'node:worker_threads';
import { readWorkbook } from './read-workbook.ts';
import { toXForm } from './to-xform.ts';
import { XlsFormFault } from './xlsform-fault.ts';

const { fileName, bytes } = workerData as { fileName: string; bytes: Uint8Array };
try {
  parentPort?.postMessage({ xml: toXForm({ fileName, sheets: readWorkbook(bytes) }) });
} catch (error) {
  if (!(error instanceof XlsFormFault)) throw error;
  parentPort?.postMessage({ fault: error.message });
}
