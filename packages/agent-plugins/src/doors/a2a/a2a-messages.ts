import type { AgentRun, PluginContext, Sender } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import { answerApprovalSchema } from '@palaver/contract/internal';
import { z } from 'zod';
import { openRun, toBody } from '../define-door.ts';
import { answerApprovals, type DoorAnswer } from '../door-approvals.ts';
import { A2aFault } from './a2a-faults.ts';

const partSchema = z
  .looseObject({
    text: z.string().optional(),
    raw: z.string().optional(),
    url: z.string().optional(),
    data: z.unknown().optional(),
    mediaType: z.string().max(255).optional(),
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

/** Begins a run with a question, or continues one with the answers to what it waits for. */
export async function openTask(ctx: PluginContext, sender: Sender, message: A2aMessage): Promise<AgentRun> {
  const { contextId, taskId, parts } = message;
  checkTypes(parts, taskId ? ['text', 'data'] : ['text']);
  if (taskId) return answerTask(ctx, sender.userDid, { taskId, contextId, parts });
  const text = parts.map((part) => part.text ?? '').join('\n');
  if (text.trim() === '') throw new A2aFault('INVALID_PARAMS', 'message.parts: the texts are empty');
  const sent = { ...sender, body: toBody(text) };
  return openRun(ctx, { userDid: sender.userDid, name: contextId }, () => sent);
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

async function answerTask(
  ctx: PluginContext,
  userDid: string,
  { taskId, contextId, parts }: { taskId: string; contextId: string | undefined; parts: Part[] },
): Promise<AgentRun> {
  const run = await ctx.resume({ userDid, runId: taskId });
  if (contextId && (await ctx.sessions.findNamed(userDid, contextId))?.sessionId !== run.sessionId)
    throw new A2aFault('INVALID_PARAMS', 'message.contextId: the task is not of this context');
  const answers = readAnswers(parts);
  if (await isRepeated(ctx, { userDid, run }, answers)) return run;
  // Never a question: it may be meant as an answer.
  if ((await run.approvals()).length === 0)
    throw new AppError('APPROVAL_NOT_FOUND', 'This task waits for no answer. Send a question without its taskId.');
  return (await answerApprovals(ctx, { userDid, run }, ({ approvalId }) => answers.get(approvalId))).run;
}

const answerSchema = answerApprovalSchema.extend({ approvalId: z.string() });

/**
 * Lines `approve <id>` or `refuse <id>` of texts, or `{ approvalId, approved, reason }` as data. Every answer names what it
 * answers, so that one that is sent again approves nothing else. Of two answers the refusal counts.
 */
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

/** Whether all answers were given before; another answer than the first is refused. */
async function isRepeated(
  ctx: PluginContext,
  { userDid, run }: { userDid: string; run: AgentRun },
  answers: Map<string, DoorAnswer>,
): Promise<boolean> {
  const pending = await run.approvals();
  if (answers.size === 0 || pending.some(({ approvalId }) => answers.has(approvalId))) return false;
  try {
    for (const [approvalId, answer] of answers)
      await ctx.answerApproval({ userDid, runId: run.runId, approvalId, ...answer });
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'APPROVAL_NOT_FOUND') return false;
    throw error;
  }
}
