// The ceiling: Fastify alone, with the same JSON, the same texts and a log line where the service writes one.
import Fastify, { LogController } from 'fastify';

const replies = JSON.parse(process.env.REPLIES ?? '{}') as Record<string, string>;
const isLogging = process.env.LOG_LEVEL === 'info';
const server = Fastify({ logger: isLogging, logController: new LogController({ disableRequestLogging: true }) });
if (isLogging) {
  server.addHook('onResponse', (request, reply, done) => {
    const { method, url } = request;
    request.log.info({ method, path: url, status: reply.statusCode, ms: reply.elapsedTime }, 'request');
    done();
  });
}
server.post<{ Body: { text: string } }>('/api/ussd', async (request, reply) =>
  reply.type('text/plain; charset=utf-8').send(replies[request.body.text]),
);
const url = await server.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ url });
