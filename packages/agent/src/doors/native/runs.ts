import { sseEventSchema } from '@palaver/contract';
import {
  answerApprovalSchema,
  approvalParamsSchema,
  approvalReplySchema,
  frameNumberSchema,
  runParamsSchema,
  runQuerySchema,
} from '@palaver/contract/internal';
import { clientAddress, type Server } from '@palaver/service-kit';
import type { FastifyRequest } from 'fastify';
import { identityOf } from '../../auth/auth-hook.ts';
import type { RunAccess } from '../../runs/access.ts';
import { sendFrames } from './sse.ts';

/** Streams that continue where a connection ended, and answers to what a run asks. */
export function addRunRoutes(server: Server, { access }: { access: RunAccess }): void {
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
        response: { 200: { description: 'The frames', content: { 'text/event-stream': { schema: sseEventSchema } } } },
      },
    },
    async (request, reply) => {
      const { did } = identityOf(request);
      const { runId } = request.params;
      // An EventSource that reconnects repeats its first address; what it has read since is in the header.
      const after = Math.max(request.query.after ?? 0, readLastEventId(request));
      const { messageId, frames, leave } = await access.follow(did, runId, after);
      await sendFrames(reply, { runId, messageId, frames, after }).finally(leave);
      return reply;
    },
  );

  server.post(
    '/runs/:runId/approvals/:approvalId',
    {
      config: { refuses: [409] },
      schema: {
        tags: ['Messages'],
        summary: 'Approve or refuse a tool call',
        description: 'The same answer again changes nothing; another one is 409.',
        params: approvalParamsSchema,
        body: answerApprovalSchema,
        response: { 200: approvalReplySchema },
      },
    },
    async (request) => {
      const answer = { userDid: identityOf(request).did, ...request.params, ...request.body };
      return { approval: await access.answerApproval({ ...answer, from: clientAddress(request) }) };
    },
  );
}

function readLastEventId(request: FastifyRequest): number {
  const parsed = frameNumberSchema.safeParse(request.headers['last-event-id']);
  return parsed.success ? parsed.data : 0;
}
