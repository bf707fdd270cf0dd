import {
  AppError,
  errorBodySchema,
  frameNumberSchema,
  runParamsSchema,
  runQuerySchema,
  sseEventSchema,
} from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import type { FastifyRequest } from 'fastify';
import { identityOf } from '../auth/auth-hook.ts';
import type { RunStore, StoredRun } from '../store/runs.ts';
import { sendFrames } from '../transports/sse.ts';
import { createFrameLog, type FrameLog } from '../turn/frame-log.ts';
import type { Peers } from '../turn/peers.ts';
import { hasEnded } from '../turn/run-state.ts';
import type { TurnHub } from '../turn/turn-hub.ts';

/** `GET /runs/:runId`: takes up a stream where a connection left it. */
export function addRunRoutes(
  server: Server,
  { hub, runs, peers }: { hub: TurnHub; runs: RunStore; peers: Peers },
): void {
  server.get(
    '/runs/:runId',
    {
      schema: {
        tags: ['Messages'],
        summary: 'Follow a run',
        description:
          'Replays the frames after `after` (or `Last-Event-ID`) as Server-Sent Events and follows the run to its end.',
        params: runParamsSchema,
        querystring: runQuerySchema,
        response: {
          200: { description: 'The frames', content: { 'text/event-stream': { schema: sseEventSchema } } },
          404: errorBodySchema,
        },
      },
    },
    async (request, reply) => {
      const { did } = identityOf(request);
      const { runId } = request.params;
      // An EventSource that reconnects repeats its first address; what it has read since is in the header.
      const after = Math.max(request.query.after ?? 0, readLastEventId(request));
      const run = hub.find(runId);
      const stored = run ? undefined : await runs.find(did, runId);
      if (run ? run.userDid !== did : !stored) throw new AppError('RUN_NOT_FOUND', 'There is no such run.');
      const frames = run?.frames ?? (await peers.followRun(runId)) ?? (stored && toFrames(stored, after));
      if (frames) await sendFrames(reply, { runId, frames, after });
      return reply;
    },
  );
}

function readLastEventId(request: FastifyRequest): number {
  const parsed = frameNumberSchema.safeParse(request.headers['last-event-id']);
  return parsed.success ? parsed.data : 0;
}

/**
 * A run whose frames are gone (a restart, long ended), told from what is stored: from the start in a few frames; for
 * somebody who has part of it only how it ended, since the stored answer is there to be read.
 */
function toFrames({ runId, sessionId, requestId, messageId, status, content }: StoredRun, after: number): FrameLog {
  const frames = createFrameLog(after);
  const timestamp = new Date().toISOString();
  if (after === 0) {
    frames.append('run', { runId, sessionId, requestId });
    if (content !== '') frames.append('message', { content, timestamp });
  }
  const ended = hasEnded(status) ? status : 'failed';
  if (ended === 'failed') {
    frames.append('error', {
      error: 'The turn was interrupted. Please send it again.',
      code: 'UNAVAILABLE',
      kind: 'internal',
      retryable: true,
      timestamp,
    });
  }
  frames.append('done', { runId, messageId, status: ended });
  frames.end();
  return frames;
}
