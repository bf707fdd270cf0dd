// The ceiling: a Fastify route that pipes the same model's stream as SSE and does nothing else.
import { createOfflineModel } from '@palaver/offline-model';
import Fastify from 'fastify';

const server = Fastify();
const wordsPerSecond = Number(process.env.OFFLINE_WORDS_PER_SECOND);
const model = createOfflineModel({ modelId: 'offline', wordsPerSecond });
server.post<{ Body: { message: string } }>('/messages/:sessionId', async (request, reply) => {
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' });
  const text = request.body.message;
  const left = new AbortController();
  reply.raw.once('close', () => left.abort(new Error('the client left')));
  const { stream } = await model.doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text }] }],
    abortSignal: left.signal,
  });
  let number = 0;
  for await (const part of stream) {
    if (part.type !== 'text-delta') continue;
    number += 1;
    const data = JSON.stringify({ content: part.delta, timestamp: new Date().toISOString() });
    reply.raw.write(`event: message\nid: ${number}\ndata: ${data}\n\n`);
  }
  reply.raw.end('event: done\nid: 0\ndata: {}\n\n');
});
const url = await server.listen({ port: 0 });
process.send?.({ url });
