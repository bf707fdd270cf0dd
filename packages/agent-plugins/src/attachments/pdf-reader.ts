// The process of `read-content.ts`: reads a PDF from standard input, writes its text to standard output.
import { buffer } from 'node:stream/consumers';
import { extractText, getDocumentProxy } from 'unpdf';

// The library's warnings about a file are not part of its text.
for (const method of ['log', 'info', 'warn', 'debug'] as const) console[method] = () => {};
const document = await getDocumentProxy(new Uint8Array(await buffer(process.stdin)));
const { text } = await extractText(document, { mergePages: false });
process.stdout.write(text.join('\n\n'));
