// Serves the page for people: `npx palaver agent` in one terminal, `node examples/plain-page/serve.ts` in another.
import { createServer } from 'vite';
import { viteOptions } from './vite-options.ts';

const server = await createServer({ ...viteOptions, server: { port: 8090, host: '127.0.0.1' } });
await server.listen();
server.printUrls();
