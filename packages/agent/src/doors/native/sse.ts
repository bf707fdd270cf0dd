import { agentLimits } from '@palaver/contract';
import { eventStreamHeaders } from '@palaver/contract/internal';
import type { FastifyReply } from 'fastify';
import type { FrameLog } from '../../run/frame-log.ts';
import { dropBody } from '../held-bytes.ts';

const chunkCharacters = 64 * 1024;

export interface StreamOptions {
  runId: string;
  /** The id under which the answer is stored. */
  messageId: string;
  frames: FrameLog;
  /** The number of the last frame the reader has. */
  after: number;
  heartbeatMs?: number;
}

/**
 * Sends the frames of a run after number `after` and follows it to its end; resolves when the connection is done with.
 * Frames wait in the run's own log until the reader takes them, so a slow reader costs no memory.
 */
export function sendFrames(
  reply: FastifyReply,
  { runId, messageId, frames, after, heartbeatMs = agentLimits.heartbeatMs }: StreamOptions,
): Promise<void> {
  reply.hijack();
  dropBody(reply.request);
  const response = reply.raw;
  // A reader that left meanwhile: `close` has been emitted and will not be again.
  if (response.destroyed || response.closed || response.socket?.destroyed) return Promise.resolve();
  reply.headers({ ...eventStreamHeaders, 'x-run-id': runId, 'x-message-id': messageId });
  response.writeHead(200, reply.getHeaders() as Record<string, string>);
  return new Promise((resolve) => {
    let sent = after;
    /** The reader has not taken what was written. */
    let isStalled = false;
    const pump = () => {
      while (!isStalled) {
        const { text, last } = frames.read(sent, chunkCharacters);
        if (text === '') break;
        sent = last;
        isStalled = !response.write(text);
      }
      if (frames.ended && sent >= frames.length && !isStalled) {
        unwatch();
        // The reader has frames that their owner had no time to store: it gets the end under the number it expects.
        if (sent > frames.length) response.write(renumber(frames.read(frames.length - 1, 1).text, sent + 1));
        response.end();
      }
    };
    const heartbeat = setInterval(() => {
      // Every write is whole frames, so a comment always falls between two of them.
      if (!isStalled) response.write(': heartbeat\n\n');
    }, heartbeatMs);
    const unwatch = frames.watch(pump);
    response.on('drain', () => {
      isStalled = false;
      pump();
    });
    response.once('close', () => {
      clearInterval(heartbeat);
      unwatch();
      resolve();
    });
    pump();
    // A reader that has everything so far gets the headers at least, and so knows that it is connected.
    if (sent === after) response.flushHeaders();
  });
}

function renumber(frame: string, number: number): string {
  return frame.replace(/^id: \d+$/m, `id: ${number}`);
}
