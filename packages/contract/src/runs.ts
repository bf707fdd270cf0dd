import { z } from 'zod';
import { capabilitySchema } from './delegation.ts';
import { agentLimits } from './limits.ts';
import { decimalInteger, jsonObjectSchema, timestampSchema, ucanTokenSchema } from './primitives.ts';
import { approvalStatuses, liveRunStatuses } from './run-status.ts';

export const approvalSchema = z
  .object({
    approvalId: z.string(),
    toolCallId: z
      .string()
      .meta({ description: 'The `eventId` of the `tool_call` that follows, and its id in `toolCalls`.' }),
    toolName: z.string(),
    args: jsonObjectSchema,
    capability: capabilitySchema.optional().meta({
      description:
        'Where the call waits for a delegation: what it has to grant. A delegation of it, posted to `/delegation`, is the approval.',
    }),
    invocation: z.object({ audience: z.string(), capability: capabilitySchema }).optional().meta({
      description:
        'Where the call is made with an invocation that the user signs: to whom it is made out, and what for. Send it with the answer.',
    }),
    status: z.enum(approvalStatuses),
    askedAt: timestampSchema,
    expiresAt: timestampSchema.meta({ description: 'Without an answer by then it counts as refused.' }),
    answeredAt: timestampSchema.optional(),
    answeredBy: z.string().optional().meta({ description: 'The DID of who answered; not there where nobody did.' }),
    reason: z.string().optional().meta({ description: 'Why it was refused; the model reads it.' }),
  })
  .meta({ id: 'Approval', description: 'A tool call that runs only once the user has approved it.' });

/** What a user is asked before a tool runs. */
export type Approval = z.infer<typeof approvalSchema>;

export const approvalParamsSchema = z
  .object({ runId: z.string().min(1), approvalId: z.string().min(1) })
  .meta({ description: 'The approval to answer, and its run.' });

export const answerApprovalSchema = z
  .object({
    approved: z.boolean(),
    reason: z.string().min(1).max(agentLimits.approvalReasonCharacters).optional().meta({
      description: 'Why it is refused, in words for the model.',
    }),
    invocation: ucanTokenSchema.optional().meta({
      description: 'Where the approval has `invocation`: the invocation that the user signed.',
    }),
  })
  .meta({ id: 'AnswerApproval', description: 'Whether a tool may run.' });

export const approvalReplySchema = z
  .object({ approval: approvalSchema })
  .meta({ id: 'ApprovalReply', description: 'The approval as it is answered.' });

export const sseErrorKindSchema = z.enum(['model', 'rate_limit', 'timeout', 'limit', 'internal']);

/** The kind of an error inside a stream. */
export type SseErrorKind = z.infer<typeof sseErrorKindSchema>;

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
