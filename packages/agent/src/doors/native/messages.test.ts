import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@palaver/test-kit';
import Fastify from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { createFrameLog, type FrameLog } from '../../runs/frames.ts';
import { sendFrames } from './messages.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const timestamp = '2026-01-01T00:00:00.000Z';

/** A server whose one route streams `frames`, and how much of them it has read out of the log. */
async function serve(frames: FrameLog, options: { heartbeatMs?: number; after?: number } = {}) {
  const server = Fastify();
  const state = { read: 0, ended: 0 };
  const watched: FrameLog = {
    ...frames,
    get length() {
      return frames.length;
    },
    get ended() {
      return frames.ended;
    },
    read(after, max) {
      const chunk = frames.read(after, max);
      state.read += chunk.text.length;
      return chunk;
    },
  };
  server.get('/', async (_request, reply) => {
    await sendFrames(reply, { runId: 'run', messageId: 'answer', frames: watched, after: 0, ...options });
    state.ended += 1;
    return reply;
  });
  const url = await server.listen({ port: 0 });
  cleanups.push(() => server.close());
  return { url, state };
}

/** A connection that has asked and reads nothing until it is resumed. */
function ask(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  cleanups.push(() => socket.destroy());
  return socket;
}

test('heartbeats come between frames only', async () => {
  const frames = createFrameLog();
  const { url } = await serve(frames, { heartbeatMs: 5 });
  const response = await fetch(url);
  for (let count = 0; count < 40; count += 1) {
    frames.append('message', { content: `w${count} `.repeat(2_000), timestamp });
    await sleep(3);
  }
  frames.end();
  const blocks = (await response.text()).split('\n\n');
  expect(blocks.pop()).toBe('');
  const beats = blocks.filter((block) => block === ': heartbeat').length;
  expect(beats).toBeGreaterThan(3);
  expect(blocks.filter((block) => /^event: message\nid: \d+\ndata: \{.*\}$/.test(block))).toHaveLength(40);
  expect(blocks).toHaveLength(40 + beats);
});

test('a reader that reads nothing takes a bounded part of a long log, and all of it once it reads', async () => {
  const frames = createFrameLog();
  const content = 'x'.repeat(10_000);
  for (let count = 0; count < 2_000; count += 1) frames.append('message', { content, timestamp });
  frames.end();
  const { url, state } = await serve(frames);
  const socket = ask(url);
  await waitFor('the buffers to be full', async () => {
    const before = state.read;
    await sleep(200);
    return state.read > 0 && state.read === before;
  });
  // What the kernel's buffers and one chunk hold, not the 20 MB of the log.
  expect(state.read).toBeLessThan(12_000_000);
  let received = 0;
  socket.on('data', (chunk) => {
    received += chunk.length;
  });
  socket.resume();
  await waitFor('the end', () => state.ended === 1);
  await waitFor('all bytes', () => received > 20_000_000);
});

test('a reader that leaves is forgotten while the log grows', async () => {
  const frames = createFrameLog();
  frames.append('message', { content: 'x', timestamp });
  const { url, state } = await serve(frames);
  const socket = ask(url);
  await waitFor('the first frame', () => state.read > 0);
  socket.destroy();
  await waitFor('the stream to end', () => state.ended === 1);
  expect(frames.ended).toBe(false);
});

test('a reader that left before the stream began leaves nothing behind', async () => {
  const frames = createFrameLog();
  const server = Fastify();
  const submitted = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  server.get('/', async (_request, reply) => {
    asked.resolve();
    await submitted.promise;
    await sendFrames(reply, { runId: 'run', messageId: 'answer', frames, after: 0 });
    sent.resolve();
    return reply;
  });
  cleanups.push(() => server.close());
  const socket = ask(await server.listen({ port: 0 }));
  await asked.promise;
  socket.destroy();
  await waitFor(
    'the connection to be gone',
    () => new Promise((resolve) => server.server.getConnections((_error, count) => resolve(count === 0))),
  );
  submitted.resolve();
  await sent.promise; // before, it waited for a `close` that had come already
});

test('a reader that has all of a run that continues elsewhere gets nothing, of one that has ended its end', async () => {
  const frames = createFrameLog();
  frames.append('message', { content: 'a', timestamp });
  const { url } = await serve(frames, { after: 1 });
  frames.end();
  expect(await (await fetch(url)).text()).toBe('');
  const ended = createFrameLog();
  ended.append('done', { runId: 'run', messageId: 'answer', status: 'complete' });
  ended.end();
  const other = await serve(ended, { after: 3 });
  expect(await (await fetch(other.url)).text()).toContain('event: done\nid: 4\n');
});
