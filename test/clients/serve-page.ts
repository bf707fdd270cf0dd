import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build, type Rolldown } from 'vite';

/** Builds the page of that name in `folder` and serves it. */
export async function servePage(folder: string, name: string): Promise<AsyncDisposable & { url: string }> {
  const root = join(folder, 'pages');
  const { output } = (await build({
    root,
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, rolldownOptions: { input: join(root, name), output: { codeSplitting: false } } },
  })) as Rolldown.RolldownOutput;
  const styles = output.flatMap((file) => (file.type === 'asset' && file.fileName.endsWith('.css') ? file.source : []));
  const page = `<!doctype html><title>The farm</title><style>${styles.join('\n')}</style><div id="root"></div><script type="module" src="/main.js"></script>`;
  const server = createServer((request, response) => {
    if (request.url === '/main.js') response.setHeader('content-type', 'text/javascript').end(output[0].code);
    else response.setHeader('content-type', 'text/html').end(page);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
