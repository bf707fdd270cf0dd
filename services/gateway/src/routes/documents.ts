import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { AppError } from '@palaver/contract';
import { docsPolicy, type Server } from '@palaver/service-kit';
import { chooseEncoding, compress, toEncodedTag } from '../compress.ts';
import type { LiveTable, Snapshot } from '../live-table.ts';
import { toOpenApi } from '../openapi/openapi.ts';
import { isUnchanged } from './is-unchanged.ts';

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Protocol query gateway</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;
const start = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null });\n`;
/** `GET /openapi.json` for the routes as they are now, and `GET /docs` to read it; nothing is fetched from elsewhere. */
export function addDocumentRoutes(server: Server, live: LiveTable): void {
  const documents = new WeakMap<Snapshot, { body: Buffer; etag: string }>();
  server.get('/openapi.json', async (request, reply) => {
    const snapshot = live.current();
    if (!snapshot) {
      reply.header('retry-after', '1');
      throw new AppError('UNAVAILABLE', 'No node could be asked for its routes yet.');
    }
    let document = documents.get(snapshot);
    if (!document) {
      const body = Buffer.from(JSON.stringify(toOpenApi(snapshot.table)));
      document = { body, etag: `"${hash('sha1', body, 'base64url')}"` };
      documents.set(snapshot, document);
    }
    reply.headers({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-cache',
      vary: 'Accept-Encoding',
    });
    const encoding = chooseEncoding(request.headers['accept-encoding'], document.body);
    reply.header('etag', encoding ? toEncodedTag(document.etag, encoding) : document.etag);
    if (isUnchanged(request.headers['if-none-match'], document.etag)) return reply.code(304).send();
    if (!encoding) return reply.send(document.body);
    return reply.header('content-encoding', encoding).send(await compress(document.body, encoding));
  });

  const asset = (path: string, type: string, read: () => string | Buffer) => {
    let content: string | Buffer | undefined;
    server.get(path, async (_request, reply) => {
      content ??= read();
      return reply
        .headers({
          'content-type': type,
          'content-security-policy': docsPolicy,
          'cache-control': 'public, max-age=3600',
        })
        .send(content);
    });
  };
  const require = createRequire(import.meta.url);
  const style = require.resolve('swagger-ui-dist/swagger-ui.css');
  const script = require.resolve('swagger-ui-dist/swagger-ui-bundle.js');
  asset('/docs', 'text/html; charset=utf-8', () => page);
  asset('/docs/start.js', 'text/javascript; charset=utf-8', () => start);
  asset('/docs/swagger-ui.css', 'text/css; charset=utf-8', () => readFileSync(style));
  asset('/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8', () => readFileSync(script));
}
