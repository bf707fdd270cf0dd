import type { AgentRun, PluginContext, Sender } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import { answerApprovalSchema } from '@palaver/contract/internal';
import { z } from 'zod';
import { answerApprovals, type DoorAnswer, keepFiles, openRun, toBody } from '../define-door.ts';

const partSchema = z
  .looseObject({
    text: z.string().optional(),
    raw: z.string().optional(),
    url: z.string().optional(),
    data: z.unknown().optional(),
    mediaType: z.string().max(255).optional(),
    filename: z.string().optional(),
  })
  .refine((part) => contentOf(part) !== undefined, 'has none of text, raw, url and data');

type Part = z.infer<typeof partSchema>;

const contents = ['text', 'raw', 'url', 'data'] as const;
const contentOf = (part: object) => contents.find((content) => content in part);

export const sendSchema = z.looseObject({
  message: z.looseObject({
    messageId: z.string().min(1).max(255),
    /** Or its number, which ProtoJSON allows. */
    role: z.union([z.literal('ROLE_USER'), z.literal(1)]),
    contextId: z.string().max(255).optional(),
    taskId: z.string().max(255).optional(),
    parts: z.array(partSchema).min(1).max(1000),
  }),
  configuration: z
    .looseObject({
      returnImmediately: z.boolean().optional(),
      historyLength: z.number().int().min(0).optional(),
      taskPushNotificationConfig: z.looseObject({}).nullish(),
    })
    .optional(),
});

type A2aMessage = z.infer<typeof sendSchema>['message'];

export async function openTask(ctx: PluginContext, sender: Sender, message: A2aMessage): Promise<AgentRun> {
  const { contextId, taskId, parts } = message;
  checkTypes(parts, taskId ? ['text', 'data'] : ['text', 'raw']);
  if (taskId) return answerTask(ctx, sender.userDid, { ...message, taskId });
  const text = parts.flatMap((part) => part.text ?? []).join('\n');
  const files = parts.filter(({ raw }) => raw !== undefined).map(({ raw: data, ...file }) => ({ ...file, data }));
  if (text.trim() === '' && files.length === 0)
    throw new A2aFault('INVALID_PARAMS', 'message.parts: the texts are empty');
  return openRun(ctx, { userDid: sender.userDid, name: contextId }, async () => ({
    ...sender,
    body: toBody(text.trim() && text, { attachments: await keepFiles(ctx, sender, { files, path: 'message.parts' }) }),
  }));
}

/** Data is for programs that answer an approval; a model is given texts only. */
function checkTypes(parts: Part[], accepted: readonly string[]): void {
  for (const part of parts) {
    const content = contentOf(part) ?? '';
    const isText = content !== 'text' || /^text\//i.test(part.mediaType || 'text/plain');
    if (!accepted.includes(content) || !isText)
      throw new A2aFault('CONTENT_TYPE_NOT_SUPPORTED', `message.parts: only ${accepted.join(' and ')} is accepted`);
  }
}

type Answering = A2aMessage & { taskId: string };

async function answerTask(ctx: PluginContext, userDid: string, { taskId, contextId, parts }: Answering) {
  const run = await ctx.resume({ userDid, runId: taskId });
  if (contextId && (await ctx.sessions.findNamed(userDid, contextId))?.sessionId !== run.sessionId)
    throw new A2aFault('INVALID_PARAMS', 'message.contextId: the task is not of this context');
  const answers = readAnswers(parts);
  const pending = await run.approvals();
  const isNew = answers.size === 0 || pending.some(({ approvalId }) => answers.has(approvalId));
  if (!isNew && (await answerAgain(ctx, { userDid, runId: taskId }, answers))) return run;
  // Never a question: it may be meant as an answer.
  if (pending.length === 0)
    throw new AppError('APPROVAL_NOT_FOUND', 'This task waits for no answer. Send a question without its taskId.');
  return (await answerApprovals(ctx, { userDid, run }, ({ approvalId }) => answers.get(approvalId))).run;
}

const answerSchema = answerApprovalSchema.extend({ approvalId: z.string() });

/** Lines `approve <id>` or `refuse <id>`, or the same as data. One that is sent again approves nothing else; a refusal counts. */
function readAnswers(parts: Part[]): Map<string, DoorAnswer> {
  const answers = parts.flatMap(({ text = '', data }) => {
    const lines = text.matchAll(/^[ \t]*(approve|refuse)[ \t]+(\S+)[ \t]*$/gim);
    const said = [...lines].map(([, word = '', approvalId = '']) => ({
      approvalId,
      approved: word.toLowerCase() === 'approve',
    }));
    const answer = answerSchema.safeParse(data);
    return answer.success ? [...said, answer.data] : said;
  });
  const refusalsLast = [...answers].reverse().sort((a, b) => Number(b.approved) - Number(a.approved));
  return new Map(refusalsLast.map(({ approvalId, ...answer }) => [approvalId, answer]));
}

type RunOf = { userDid: string; runId: string };

/** Whether all answers were given before; another answer than the first is refused. */
async function answerAgain(ctx: PluginContext, run: RunOf, answers: Map<string, DoorAnswer>): Promise<boolean> {
  try {
    for (const [approvalId, answer] of answers) await ctx.answerApproval({ ...run, approvalId, ...answer });
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'APPROVAL_NOT_FOUND') return false;
    throw error;
  }
}

const codes = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  VERSION_NOT_SUPPORTED: -32009,
} as const;

type Reason = keyof typeof codes;

/** A fault of the call itself: a JSON-RPC reply with status 200. */
export class A2aFault extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string) {
    super(message);
    this.reason = reason;
  }
}

const reasons: Partial<Record<string, Reason>> = {
  RUN_NOT_FOUND: 'TASK_NOT_FOUND',
  APPROVAL_NOT_FOUND: 'UNSUPPORTED_OPERATION',
  APPROVAL_ANSWERED: 'UNSUPPORTED_OPERATION',
  VALIDATION_FAILED: 'INVALID_PARAMS',
  ATTACHMENT_FAILED: 'CONTENT_TYPE_NOT_SUPPORTED',
};

/** The fault that an error of a call stands for; undefined for refusals, which have a status of HTTP too. */
export function toFault(error: unknown): A2aFault | undefined {
  if (error instanceof A2aFault) return error;
  if (!(error instanceof AppError)) return undefined;
  const reason = reasons[error.code];
  return reason && new A2aFault(reason, error.message);
}

export function toFaultBody({ reason, message }: A2aFault, id: unknown) {
  return toError({ code: codes[reason], reason, message }, id);
}

const codesOfRefusals: Partial<Record<string, number>> = {
  BAD_REQUEST: codes.INVALID_REQUEST,
  VALIDATION_FAILED: codes.INVALID_REQUEST,
  UNSUPPORTED_MEDIA_TYPE: codes.CONTENT_TYPE_NOT_SUPPORTED,
  INTERNAL_ERROR: codes.INTERNAL_ERROR,
};

export const refusalSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]),
  error: z.object({ code: z.int(), message: z.string(), data: z.array(z.looseObject({ '@type': z.string() })) }),
});

/** An error with a status of HTTP: of what is not a call, and of a caller who is refused. */
export function toRefusalBody({ code, message, cause }: AppError) {
  const isText = cause instanceof Error && 'code' in cause && cause.code === 'FST_ERR_CTP_INVALID_JSON_BODY';
  if (isText) return toFaultBody(new A2aFault('PARSE_ERROR', message), null);
  return toError({ code: codesOfRefusals[code] ?? -32000, reason: code, message }, null);
}

function toError({ code, reason, message }: { code: number; reason: string; message: string }, id: unknown) {
  const data = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' }];
  return { jsonrpc: '2.0', id, error: { code, message, data } };
}
