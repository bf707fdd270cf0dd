import type { AgentRun, ApprovalAnswer, PluginContext, RunEvent } from '@palaver/agent';
import type { Approval } from '@palaver/contract';
import { answerApprovalSchema } from '@palaver/contract/internal';
import { invalid } from './define-door.ts';

export type DoorAnswer = Pick<ApprovalAnswer, 'approved' | 'reason'>;

export interface Resumed {
  /** Its events begin after the answers. */
  run: AgentRun;
  answered: Approval[];
}

/** What a run waits for at this event: the stream ends here, and the answers come with another request. */
export async function findPause(run: AgentRun, { name, data }: RunEvent): Promise<Approval[] | undefined> {
  if (name !== 'approval_request' || data.status !== 'pending') return undefined;
  const pending = await run.approvals();
  // In a stream that is read again the approval may have been answered since.
  return pending.some(({ approvalId }) => approvalId === data.approvalId) ? toRequests(pending) : undefined;
}

/** One request for each call, though it may wait for approval, a delegation and a signature: these protocols ask once. */
export function toRequests(pending: Approval[]): Approval[] {
  return [...Map.groupBy(pending, ({ toolCallId }) => toolCallId).values()].flatMap((ofCall) => {
    const [first] = ofCall;
    const { capability } = ofCall.find((approval) => approval.capability) ?? {};
    const { invocation } = ofCall.find((approval) => approval.invocation) ?? {};
    return first ? [{ ...first, ...(capability && { capability }), ...(invocation && { invocation }) }] : [];
  });
}

/** Answers what a run waits for, all of it: a run with an open approval does not continue. */
export async function answerApprovals(
  { answerApproval }: Pick<PluginContext, 'answerApproval'>,
  { userDid, run }: { userDid: string; run: AgentRun | undefined },
  toAnswer: (approval: Approval) => DoorAnswer | undefined,
): Promise<Resumed> {
  const pending = (await run?.approvals()) ?? [];
  if (!run || pending.length === 0) throw invalid('messages', 'nothing in this conversation waits for an approval');
  const answers = toRequests(pending).flatMap((request) => {
    const answer = answerApprovalSchema.safeParse(toAnswer(request));
    if (!answer.success)
      throw invalid('messages', `approval ${request.approvalId} is not answered: all that are open must be`);
    const ofCall = pending.filter(({ toolCallId }) => toolCallId === request.toolCallId);
    // Those first that are refused without their delegation or signature: then nothing else is approved either.
    return ofCall.toReversed().map(({ approvalId }) => ({ approvalId, ...answer.data }));
  });
  const answered: Approval[] = [];
  for (const answer of answers) answered.push(await answerApproval({ userDid, runId: run.runId, ...answer }));
  const ids = new Set(answers.map(({ approvalId }) => approvalId));
  return { run: { ...run, events: (options) => skipToAnswers(run.events(options), ids) }, answered };
}

async function* skipToAnswers(events: AsyncIterable<RunEvent>, ids: Set<string>): AsyncGenerator<RunEvent> {
  let isAnswered = false;
  for await (const event of events) {
    if (event.name === 'approval_request' && event.data.status !== 'pending')
      isAnswered ||= ids.has(event.data.approvalId);
    if (isAnswered || event.name === 'done') yield event;
  }
}

const cannotAsk = 'The client of this conversation cannot ask its user. Another client of this agent can.';

/** For protocols that have no way to ask: a call that needs approval is refused at once, and the model says so. */
export function refuseApprovals(
  { answerApproval }: Pick<PluginContext, 'answerApproval'>,
  userDid: string,
  run: AgentRun,
): AgentRun {
  async function* events(options?: Parameters<AgentRun['events']>[0]): AsyncGenerator<RunEvent> {
    for await (const event of run.events(options)) {
      // Somebody may have answered it in another client.
      for (const { approvalId } of (await findPause(run, event)) ? await run.approvals() : [])
        await answerApproval({ userDid, runId: run.runId, approvalId, approved: false, reason: cannotAsk }).catch(
          () => undefined,
        );
      yield event;
    }
  }
  return { ...run, events };
}
