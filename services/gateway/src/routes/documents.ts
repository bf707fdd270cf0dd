import { hash } from 'node:crypto';
import { AppError } from '@palaver/contract';
import { addDocsPage, type Server } from '@palaver/service-kit';
import { isUnchanged } from '@palaver/service-kit/internal';
import { chooseEncoding, compress, toEncodedTag } from '../answer.ts';
import type { LiveTable, Snapshot } from '../live-table.ts';
import { toOpenApi } from '../openapi.ts';

/** `GET /openapi.json` for the routes as they are now, and `GET /docs` to read it; nothing is fetched from elsewhere. */
export function addDocumentRoutes(server: Server, live: LiveTable): void {
  const documents = new WeakMap<Snapshot, { body: Buffer; etag: string }>();
  server.get('/openapi.json', async (request, reply) => {
    const snapshot = live.current();
    if (!snapshot) {
      reply.header('retry-after', '1');
      throw new AppError('UNAVAILABLE', 'No node has answered yet, so there are no routes.');
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

  addDocsPage(server, { title: 'Protocol query gateway', document: 'openapi.json' });
}
