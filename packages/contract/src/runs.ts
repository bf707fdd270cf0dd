import { z } from 'zod';
import { capabilitySchema } from './delegation.ts';
import { agentLimits } from './limits.ts';
import { decimalInteger, jsonObjectSchema, named, timestampSchema, ucanTokenSchema } from './primitives.ts';
import { approvalStatuses, liveRunStatuses } from './run-status.ts';

export const approvalSchema = named('Approval', 'A tool call that runs only once the user has approved it.', {
  approvalId: z.string(),
  toolCallId: z.string().describe('The `eventId` of the `tool_call` that follows, and its id in `toolCalls`.'),
  toolName: z.string(),
  args: jsonObjectSchema,
  capability: capabilitySchema
    .optional()
    .describe(
      'Where the call waits for a delegation: what it has to grant. A delegation of it, posted to `/delegation`, is the approval.',
    ),
  invocation: z
    .object({ audience: z.string(), capability: capabilitySchema })
    .optional()
    .describe(
      'Where the call is made with an invocation that the user signs: to whom it is made out, and what for. Send it with the answer.',
    ),
  status: z.enum(approvalStatuses),
  askedAt: timestampSchema,
  expiresAt: timestampSchema.describe('Without an answer by then it counts as refused.'),
  answeredAt: timestampSchema.optional(),
  answeredBy: z.string().optional().describe('The DID of who answered; not there where nobody did.'),
  reason: z.string().optional().describe('Why it was refused; the model reads it.'),
});

/** What a user is asked before a tool runs. */
export type Approval = z.infer<typeof approvalSchema>;

export const approvalParamsSchema = z
  .object({ runId: z.string().min(1), approvalId: z.string().min(1) })
  .describe('The approval to answer, and its run.');

export const answerApprovalSchema = named('AnswerApproval', 'Whether a tool may run.', {
  approved: z.boolean(),
  reason: z
    .string()
    .min(1)
    .max(agentLimits.approvalReasonCharacters)
    .optional()
    .describe('Why it is refused, in words for the model.'),
  invocation: ucanTokenSchema
    .optional()
    .describe('Where the approval has `invocation`: the invocation that the user signed.'),
});

export const approvalReplySchema = named('ApprovalReply', 'The approval as it is answered.', {
  approval: approvalSchema,
});

export const sseErrorKindSchema = z.enum(['model', 'rate_limit', 'timeout', 'limit', 'internal']);

/** The kind of an error inside a stream. */
export type SseErrorKind = z.infer<typeof sseErrorKindSchema>;

export const runParamsSchema = z.object({ runId: z.string().min(1) }).describe('The run to follow.');

/** The number of an SSE frame, in `?after=` and in `Last-Event-ID`. */
export const frameNumberSchema = decimalInteger(0, Number.MAX_SAFE_INTEGER).describe(
  'Frames up to this number are left out.',
);

export const runQuerySchema = z
  .object({ after: frameNumberSchema.optional() })
  .describe('Where to take up the frames of a run.');

export const liveRunReplySchema = z
  .object({
    run: z
      .object({
        runId: z.string(),
        status: z.enum(liveRunStatuses),
        approvals: z.array(approvalSchema).optional().describe('What a run that is `waiting` waits for.'),
      })
      .nullable(),
  })
  .meta({ id: 'LiveRun', description: 'The run that is queued, running or waiting in a session, if there is one.' });

export type LiveRunReply = z.infer<typeof liveRunReplySchema>;
