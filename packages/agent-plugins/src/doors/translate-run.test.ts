import { connect } from 'node:net';
import { waitFor } from '@palaver/test-kit';
import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { sendEventStream } from './translate-run.ts';

test('events end when their reader leaves without having read what waits', async () => {
  const server = Fastify();
  const state = { made: 0, isOver: false };
  const event = `data: ${'x'.repeat(100_000)}\n\n`;
  async function* makeEvents() {
    try {
      for (;;) {
        state.made += 1;
        yield event;
      }
    } finally {
      state.isOver = true;
    }
  }
  server.get('/', (_request, reply) => sendEventStream(reply, makeEvents()));
  onTestFinished(() => server.close());
  const url = await server.listen({ port: 0 });
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  let before = -1;
  await waitFor('the buffers to be full', async () => {
    const isFull = state.made > 0 && state.made === before;
    before = state.made;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return isFull;
  });
  expect(state.isOver).toBe(false);
  socket.destroy();
  await waitFor('the events to end', () => state.isOver);
});
