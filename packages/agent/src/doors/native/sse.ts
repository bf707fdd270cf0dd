import { agentLimits } from '@palaver/contract';
import { openEventStream } from '@palaver/service-kit/internal';
import type { FastifyReply } from 'fastify';
import type { FrameLog } from '../../runs/frames.ts';
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
  dropBody(reply.request);
  const headers = { 'x-run-id': runId, 'x-message-id': messageId };
  const stream = openEventStream(reply, { headers, heartbeatMs });
  if (!stream) return Promise.resolve();
  return new Promise((resolve) => {
    let sent = after;
    const pump = () => {
      while (!stream.writableNeedDrain) {
        const { text, last } = frames.read(sent, chunkCharacters);
        if (text === '') break;
        sent = last;
        stream.write(text);
      }
      if (frames.ended && sent >= frames.length && !stream.writableNeedDrain) {
        unwatch();
        stream.end(sent === after ? frames.endAfter(sent) : '');
      }
    };
    const unwatch = frames.watch(pump);
    stream.on('drain', pump);
    stream.once('close', () => {
      unwatch();
      resolve();
    });
    pump();
    // A reader that has everything so far gets the headers at least, and so knows that it is connected.
    if (sent === after) stream.flushHeaders();
  });
}
