import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { docsPolicy } from './browser-headers.ts';
import type { Server } from './server.ts';

export interface DocsPageOptions {
  title: string;
  /** Where the OpenAPI document is, relative to `/docs`. */
  document: string;
}

const require = createRequire(import.meta.url);
const style = require.resolve('swagger-ui-dist/swagger-ui.css');
const script = require.resolve('swagger-ui-dist/swagger-ui-bundle.js');

/**
 * `GET /docs`: Swagger UI for an OpenAPI document, with all that it loads from this server. The files are read at the
 * first request.
 *
 * @example
 * ```ts
 * import { addDocsPage, type Server } from '@palaver/service-kit';
 *
 * export const addDocs = (server: Server) => addDocsPage(server, { title: 'Weather', document: 'openapi.json' });
 * ```
 */
export function addDocsPage(server: Server, { title, document }: DocsPageOptions): void {
  const settings = { url: document, dom_id: '#docs', deepLinking: true, validatorUrl: null };
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title.replace(/[&<]/g, (sign) => (sign === '&' ? '&amp;' : '&lt;'))}</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;
  const add = (path: string, type: string, read: () => string | Buffer) => {
    let content: string | Buffer | undefined;
    server.get(path, { schema: { hide: true } }, async (_request, reply) => {
      content ??= read();
      const headers = { 'content-security-policy': docsPolicy, 'cache-control': 'public, max-age=3600' };
      return reply.headers({ 'content-type': `${type}; charset=utf-8`, ...headers }).send(content);
    });
  };
  add('/docs', 'text/html', () => page);
  server.get('/docs/', { schema: { hide: true } }, (_request, reply) => reply.redirect('../docs'));
  add('/docs/start.js', 'text/javascript', () => `SwaggerUIBundle(${JSON.stringify(settings)});\n`);
  add('/docs/swagger-ui.css', 'text/css', () => readFileSync(style));
  add('/docs/swagger-ui-bundle.js', 'text/javascript', () => readFileSync(script));
}
