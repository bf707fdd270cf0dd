// A server in a process of its own, so that its CPU time and memory are measured apart from the load's:
// `agent` is the service unchanged, `bare` a Fastify route that pipes the same model's stream as SSE and does nothing else.
import { startAgent } from '@palaver/agent-service';
import { createOfflineModel } from '@palaver/offline-model';
import Fastify from 'fastify';

export interface ServerStats {
  /** Milliseconds of CPU since the start. */
  cpuMs: number;
  rssMb: number;
  /** What is really held, after a collection; only where it was asked for, since that costs CPU. */
  heldMb: number;
}

const wordsPerSecond = Number(process.env.OFFLINE_WORDS_PER_SECOND);
const url = process.argv[2] === 'agent' ? (await startAgent(process.env)).url : await startBare();

process.on('message', (what) => process.send?.(toStats(what === 'held')));
process.on('disconnect', () => process.exit(0));
process.send?.({ url });

function toStats(held: boolean): ServerStats {
  const { user, system } = process.cpuUsage();
  const rssMb = process.memoryUsage.rss() / 1e6;
  if (held) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return { cpuMs: (user + system) / 1000, rssMb, heldMb: (heapUsed + external) / 1e6 };
}

async function startBare(): Promise<string> {
  const server = Fastify();
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
  return await server.listen({ port: 0 });
}
