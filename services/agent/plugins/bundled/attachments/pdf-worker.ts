// The thread of `read-pdf.ts`: gets the bytes of a PDF, posts its text.
import { parentPort, workerData } from 'node:worker_threads';
import { extractText, getDocumentProxy } from 'unpdf';

const document = await getDocumentProxy(workerData as Uint8Array);
const { text } = await extractText(document, { mergePages: false });
parentPort?.postMessage(text.join('\n\n'));
