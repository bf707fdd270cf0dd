import { z } from 'zod';
import { approvalSchema } from './approvals.ts';
import { decimalInteger } from './pagination.ts';
import { liveRunStatuses } from './run-status.ts';

export const runParamsSchema = z.object({ runId: z.string().min(1) }).meta({ description: 'The run to follow.' });

/** The number of an SSE frame, in `?after=` and in `Last-Event-ID`. */
export const frameNumberSchema = decimalInteger(0, Number.MAX_SAFE_INTEGER).meta({
  description: 'Frames up to this number are left out.',
});

export const runQuerySchema = z
  .object({ after: frameNumberSchema.optional() })
  .meta({ description: 'Where to take up the frames of a run.' });

export const liveRunReplySchema = z
  .object({
    run: z
      .object({
        runId: z.string(),
        status: z.enum(liveRunStatuses),
        approvals: z.array(approvalSchema).optional().meta({ description: 'What a run that is `waiting` waits for.' }),
      })
      .nullable(),
  })
  .meta({ id: 'LiveRun', description: 'The run that is queued, running or waiting in a session, if there is one.' });

export type LiveRunReply = z.infer<typeof liveRunReplySchema>;
