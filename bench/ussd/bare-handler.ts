// The ceiling: Fastify alone, which parses the same JSON and returns the same texts, and does nothing else.
import Fastify from 'fastify';

const replies = JSON.parse(process.env.REPLIES ?? '{}') as Record<string, string>;
const level = process.env.LOG_LEVEL ?? 'info';
const server = Fastify({ logger: level === 'silent' ? false : { level } });
server.post<{ Body: { text: string } }>('/api/ussd', async (request, reply) =>
  reply.type('text/plain; charset=utf-8').send(replies[request.body.text]),
);
const url = await server.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ url });
process.on('message', () => process.send?.({ memory: process.memoryUsage(), cpu: process.cpuUsage() }));
