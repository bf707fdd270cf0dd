import { AppError, type Approval } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { AuditLog } from '@palaver/store';
import type { Capability } from '@palaver/ucan';
import { hasCapability } from '@palaver/ucan/internal';
import type { Transaction } from 'kysely';
import type { Broadcast } from '../cluster/broadcast.ts';
import type { ApprovalAnswer, ApprovalStore, GatedStep } from '../store/approvals.ts';
import type { DelegationStore } from '../store/delegations.ts';
import type { RunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { checkOwner, createWaiters, type LiveRun } from './queue.ts';
import type { Run } from './run.ts';
import type { RecordedRun } from './steps.ts';

export interface RunApprovalParts {
  approvals: ApprovalStore;
  runs: Pick<RunStore, 'state' | 'find' | 'steps'>;
  audit: Pick<AuditLog<AgentDatabase>, 'record' | 'person'>;
  delegations: Pick<DelegationStore, 'afterRecording' | 'findUsable'>;
  broadcast: Broadcast;
  logger: Logger;
  timeoutMs: number;
  onElsewhere(): void;
}

export type RunApprovals = ReturnType<typeof createRunApprovals>;

/** Broadcasts of answers may be lost. */
const pollMs = 30_000;
const anotherMessage = 'The user sent another message instead.';

export function createRunApprovals(parts: RunApprovalParts) {
  const { approvals, runs, broadcast } = parts;
  const waiters = createWaiters({ pollMs });
  broadcast.onMessage((message) => {
    if (message.kind === 'answered') waiters.wake(message.runId);
  });

  function wake(runId: string): void {
    if (waiters.wake(runId)) return;
    broadcast.publish({ kind: 'answered', runId });
    parts.onElsewhere();
  }

  async function findAnswered(answer: ApprovalAnswer): Promise<Approval> {
    const known = await approvals.find(answer);
    if (known) {
      const { status, capability, invocation } = known;
      const details = { approval: known };
      if (status !== 'pending' && answer.approved === (status === 'approved')) return known;
      if (status === 'pending' && capability && answer.approved) {
        const message = 'Post a delegation of `capability` to /delegation: it is the approval.';
        throw new AppError('DELEGATION_REQUIRED', message, { details });
      }
      if (status === 'pending' && invocation && answer.approved)
        throw new AppError('VALIDATION_FAILED', 'Sign `invocation` of the approval and send it as `invocation`.');
      const message = status === 'pending' ? 'The run does not wait any more.' : `It is ${status}.`;
      throw new AppError('APPROVAL_ANSWERED', message, { details });
    }
    if (!(await runs.find(answer.userDid, answer.runId))) throw new AppError('RUN_NOT_FOUND', 'There is no such run.');
    throw new AppError('APPROVAL_NOT_FOUND', 'There is no such approval.');
  }

  return {
    async ask(step: GatedStep): ReturnType<ApprovalStore['ask']> {
      const outcome = await approvals.ask(step, parts.timeoutMs);
      // It may have been given since the step was looked at; whoever stores one from now on finds what was asked.
      if (outcome === 'asked' && step.calls.some(({ capability }) => capability)) {
        await parts.delegations.afterRecording(step.userDid);
        const { usable } = await parts.delegations.findUsable(step.userDid);
        await approvals.grant(step.userDid, (capability) => usable.some(({ view }) => hasCapability(view, capability)));
      }
      return outcome;
    },

    /** A delegation is stored: what waits for it is approved in the same transaction. Wake the runs after it. */
    grant: (trx: Transaction<AgentDatabase>, userDid: string, isGranted: (capability: Capability) => boolean) =>
      approvals.grant(userDid, isGranted, trx),
    wake,

    /** Resolves once every approval of the run is answered and its tools may begin; rejects when it is cancelled. */
    async wait(entry: LiveRun): Promise<RecordedRun> {
      const { runId, signal } = entry.run;
      let isStreamed = false;
      const { steps, approvals: answered } = await waiters.wait(runId, signal, async () => {
        const asked = await approvals.ofRun(runId);
        if (!asked) return { approvals: [], steps: undefined };
        emitNew(entry.run, asked);
        const isStored = await entry.frames.flush();
        if (isStored && !isStreamed) {
          await approvals.setStreamed(entry.owned);
          isStreamed = true;
        }
        if (asked.some(({ status }) => status === 'pending')) return undefined;
        if (await approvals.resume(entry.owned)) return { approvals: asked, steps: await runs.steps(runId) };
        await checkOwner(entry, runs);
        return undefined;
      });
      if (!steps) throw new Error('the steps or approvals of the run cannot be decrypted');
      return { approvals: answered, steps, signed: await approvals.signedFor(runId) };
    },

    /** Throws where there is nothing to answer, or the answer is another one already. */
    async answer(answer: ApprovalAnswer & { from?: string }): Promise<Approval> {
      const { runId, userDid, from } = answer;
      const person = parts.audit.person(userDid);
      const answered = await approvals.answer(answer, (trx, { approvalId, toolName, status }) => {
        const details = { runId, approvalId, tool: toolName, answer: status };
        return parts.audit.record(
          { actor: person, action: 'approval.answered', subject: person, ...(from && { from }), details },
          trx,
        );
      });
      if (!answered) return findAnswered(answer);
      parts.logger.info({ runId, toolName: answered.toolName, status: answered.status }, 'an approval was answered');
      wake(runId);
      return answered;
    },

    /** A message that is sent while a run of its session waits counts as a refusal. */
    async refuse(sessionId: string): Promise<void> {
      for (const runId of await approvals.refuseOfSession(sessionId, anotherMessage)) wake(runId);
    },

    async expire(): Promise<void> {
      for (const runId of await approvals.expire()) wake(runId);
    },

    /** All of a run; none where they cannot be decrypted, so that nothing counts as approved. */
    ofRun: async (runId: string): Promise<Approval[]> => (await approvals.ofRun(runId)) ?? [],

    signedFor: approvals.signedFor,

    pending: async (runId: string): Promise<Approval[]> =>
      (await approvals.ofRun(runId))?.filter(({ status }) => status === 'pending') ?? [],
  };
}

function emitNew({ runId, sessionId, requestId, approvals, emit }: Run, asked: Approval[]): void {
  const known = new Map(approvals().map(({ approvalId, status }) => [approvalId, status]));
  const changed = asked.filter(({ approvalId, status }) => known.get(approvalId) !== status);
  for (const approval of changed) emit('approval_request', { sessionId, requestId, runId, ...approval });
}
