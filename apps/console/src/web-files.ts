import type { Server } from '@palaver/service-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Page, WebFile } from './web-build/create-web-build.ts';

// Everything comes from this server; attachments that the page shows are blobs.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export function addWebRoutes(server: Server, page: Page): void {
  for (const path of ['/', '/phone', '/programs', '/chat', '/explorer', '/operations', '/guide']) {
    server.get(path, (request, reply) => send(request, reply, '/index.html'));
  }
  server.get('/assets/*', (request, reply) => send(request, reply, request.url.split('?')[0] ?? ''));
  server.get('/favicon.svg', (request, reply) => send(request, reply, '/favicon.svg'));
  // People get a page that says so; programs get the error that every service answers.
  server.get('/*', (request, reply) =>
    request.headers.accept?.includes('text/html')
      ? send(request, reply.code(404), '/index.html')
      : reply.callNotFound(),
  );

  function send(request: FastifyRequest, reply: FastifyReply, path: string) {
    const state = page.current();
    reply.header('content-security-policy', policy);
    if (state.status !== 'ready') return sendNotice(reply, state.status);
    const file = state.files.get(path);
    return file ? sendFile(request, reply, file) : reply.callNotFound();
  }
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: WebFile) {
  reply.headers({
    'content-type': file.type,
    // Files under /assets carry a hash of their content in their names.
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: file.etag,
    vary: 'accept-encoding',
  });
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  const accepted = request.headers['accept-encoding'] ?? '';
  const encoding = (['br', 'gzip'] as const).find(
    (name) => file.compressed[name] && accepted.split(/[\s,;]+/).includes(name),
  );
  if (!encoding) return reply.send(file.body);
  return reply.header('content-encoding', encoding).send(file.compressed[encoding]);
}

function sendNotice(reply: FastifyReply, status: 'building' | 'failed') {
  const words =
    status === 'building'
      ? 'The console page is being built. This takes a few seconds, once.'
      : 'The console page could not be built; the log of the console says why.';
  const refresh = status === 'building' ? '<meta http-equiv="refresh" content="1">' : '';
  return reply
    .code(503)
    .headers({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'retry-after': '1' })
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8">${refresh}<title>Palaver</title></head><body><p>${words}</p></body></html>`,
    );
}
