import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { pipeline } from 'node:stream';
import { AppError } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Targets, toBrowserHeaders, toServiceHeaders } from '../forwarding.ts';

// Longer than any turn of an agent; streams beat every 15 s.
const silenceMs = 660_000;

/** `/api/<service>/…` is that service's `/…`, streamed both ways, so that the page needs no CORS. */
export async function addServiceRoutes(server: Server, targets: Targets): Promise<void> {
  const agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };
  server.addHook('onClose', async () => {
    for (const agent of Object.values(agents)) agent.destroy();
  });

  async function forward(request: FastifyRequest, reply: FastifyReply, base: string, prefix: string) {
    const target = new URL(base);
    const isSecure = target.protocol === 'https:';
    const upstream = (isSecure ? requestHttps : requestHttp)({
      agent: agents[isSecure ? 'https:' : 'http:'],
      hostname: target.hostname,
      port: target.port,
      method: request.method,
      path: target.pathname.replace(/\/$/, '') + (request.raw.url ?? '/').slice(prefix.length),
      headers: { ...toServiceHeaders(request.raw, target), 'x-request-id': request.id },
      timeout: silenceMs,
    });
    upstream.on('timeout', () => upstream.destroy(new Error('the service was silent for too long')));
    reply.raw.once('close', () => upstream.destroy());
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      upstream.once('response', resolve).once('error', reject);
    });
    pipeline(request.raw, upstream, () => {}); // a fault of either side shows in `answered`
    const answer = await answered.catch((error: unknown) => {
      request.log.warn({ err: error, service: prefix }, 'a service cannot be reached');
      throw new AppError('UNAVAILABLE', `The service behind ${prefix} cannot be reached.`);
    });
    return reply
      .code(answer.statusCode ?? 502)
      .headers(toBrowserHeaders(answer.headers, prefix))
      .send(answer);
  }

  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    const routes = Object.entries(targets).map(([name, base]) => ({ prefix: `/api/${name}`, base }));
    for (const { prefix, base } of routes) {
      scope.all(`${prefix}/*`, (request, reply) => forward(request, reply, base, prefix));
    }
    // Socket.IO reads the path of an address as a namespace, so its own path stands at the root.
    scope.all('/socket.io/*', (request, reply) => forward(request, reply, targets.agent, ''));
  });
}
