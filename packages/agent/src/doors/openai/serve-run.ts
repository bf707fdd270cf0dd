import { signalOf, toReply } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AgentRun, Sender } from '../../define/agent-run.ts';
import type { PluginContext } from '../../define/plugin-context.ts';
import { type Answer, collectAnswer } from '../collect-answer.ts';
import { abortOnLeave, sendRefusals } from '../define-door.ts';
import { refuseApprovals } from '../door-approvals.ts';
import { sendEventStream } from '../event-stream.ts';
import { checkModel } from './openai-error.ts';

export const openAiConfig = { bareBearer: true, refuses: sendRefusals };
export const openAiReply = { 200: toReply('The answer, or its stream', 'application/json', 'text/event-stream') };

/** What both APIs say of a run. */
export interface RunBase {
  id: string;
  created: number;
  model: string;
}

interface Served {
  request: FastifyRequest & { body: { model?: string | undefined; stream?: boolean | null | undefined } };
  reply: FastifyReply;
  /** Before the id of the run. */
  prefix: string;
  /** Whether the session is removed with the end of the run. */
  isTemporary: boolean;
  open(sender: Sender): Promise<AgentRun>;
  toEvents(run: AgentRun, base: RunBase, signal: AbortSignal): AsyncIterable<string>;
  toWhole(answer: Answer, base: RunBase): object;
}

/** Answers a request by a run, as a stream or whole. The run ends with its client. */
export async function serveRun(ctx: PluginContext, served: Served): Promise<object> {
  const { request, reply, prefix } = served;
  const { stream, model } = request.body;
  checkModel(ctx, model);
  const signal = signalOf(reply);
  const sender = ctx.senderOf(request, reply);
  const run = refuseApprovals(ctx, sender.userDid, await served.open(sender));
  abortOnLeave(run, signal);
  const created = Math.floor(Date.now() / 1000);
  const base = { id: `${prefix}${run.runId}`, created, model: model ?? ctx.models.list.default };
  try {
    if (stream) return await sendEventStream(reply, served.toEvents(run, base, signal));
    return served.toWhole(await collectAnswer(run, signal), base);
  } finally {
    if (served.isTemporary) {
      // A client that has left: its run ends first.
      await run.answer().catch(() => undefined);
      await ctx.sessions.remove(sender.userDid, run.sessionId);
    }
  }
}
