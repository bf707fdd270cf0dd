import type { ServerResponse } from 'node:http';
import { agentLimits } from '@palaver/contract';
import type { FastifyReply } from 'fastify';
import type { FrameLog } from '../turn/frame-log.ts';

const chunkCharacters = 64 * 1024;

export interface StreamOptions {
  runId: string;
  frames: FrameLog;
  /** The number of the last frame the reader has. */
  after: number;
  heartbeatMs?: number;
  /** How long a reader may take nothing before it is cut off. */
  stalledMs?: number;
}

/**
 * Sends the frames of a run after number `after` and follows it to its end. Frames wait in the run's own log until the
 * reader takes them, so a slow reader costs no memory; one that takes nothing for a minute is cut off.
 */
export async function sendFrames(
  reply: FastifyReply,
  { runId, frames, after, heartbeatMs = agentLimits.heartbeatMs, stalledMs = 60_000 }: StreamOptions,
): Promise<void> {
  reply.hijack();
  const response = reply.raw;
  const left = new AbortController();
  response.once('close', () => left.abort());
  response.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'x-run-id': runId,
  });
  response.flushHeaders();
  const heartbeat = setInterval(() => {
    // Every write is whole frames, so a comment always falls between two of them.
    if (!response.writableNeedDrain) response.write(': heartbeat\n\n');
  }, heartbeatMs);
  try {
    await follow(response, frames, { after, stalledMs, signal: left.signal });
    response.end();
  } finally {
    clearInterval(heartbeat);
  }
}

async function follow(
  response: ServerResponse,
  frames: FrameLog,
  { after, stalledMs, signal }: { after: number; stalledMs: number; signal: AbortSignal },
): Promise<void> {
  let sent = after;
  while (!signal.aborted) {
    const { text, last } = frames.read(sent, chunkCharacters);
    sent = Math.max(sent, last);
    if (text !== '' && !response.write(text)) await drained(response, stalledMs, signal);
    if (text === '') {
      if (frames.ended) return;
      await frames.more(sent, signal);
    }
  }
}

/** Resolves when the reader has caught up or left; who reads nothing for too long is disconnected. */
function drained(response: ServerResponse, stalledMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stalled = setTimeout(() => response.destroy(), stalledMs);
    const done = () => {
      clearTimeout(stalled);
      response.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.once('drain', done);
    signal.addEventListener('abort', done);
  });
}
