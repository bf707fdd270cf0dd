import { AppError, type Message } from '@palaver/contract';
import { type RateLimit, toRateError } from '@palaver/service-kit/internal';
import type { AgentRun, OpenMessage } from '../plugins/agent-run.ts';
import { type MessageStore, toShown } from '../store/messages.ts';
import type { SendKey } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import type { OpenRun, RunReader } from './open-run.ts';
import type { TurnPreparation } from './prepare-turn.ts';
import type { RunApprovals } from './run-approvals.ts';
import { RunCancelled } from './stream-error.ts';
import type { Turn } from './turn.ts';
import type { TurnHub } from './turn-hub.ts';

export interface RunAccessParts {
  hub: Pick<TurnHub, 'submit' | 'submitOnce' | 'abort' | 'live'>;
  approvals: Pick<RunApprovals, 'answer' | 'pending'>;
  runs: Pick<RunStore, 'findSend' | 'list' | 'state'>;
  messages: Pick<MessageStore, 'question'>;
  reader: RunReader;
  preparation: TurnPreparation;
  /** Counts the messages of a user. */
  sendLimit: RateLimit;
}

export type RunAccess = ReturnType<typeof createRunAccess>;

/** How doors and plugins begin runs and read them: the send limit and all gates are here, and there is no other way to the hub. */
export function createRunAccess({ hub, approvals, runs, messages, reader, preparation, sendLimit }: RunAccessParts) {
  async function countSend({ userDid, onCounted }: OpenMessage): Promise<void> {
    const standing = await sendLimit(userDid);
    onCounted?.(standing);
    if (standing?.isOver) throw toRateError(standing);
  }

  async function admit(message: OpenMessage): Promise<Turn> {
    await countSend(message);
    return preparation.prepare(message);
  }

  function openKnown(userDid: string, known: { runId: string; bodyHash: string }, send: SendKey): Promise<OpenRun> {
    if (known.bodyHash === send.bodyHash) return reader.open(userDid, known.runId);
    const message = 'This Idempotency-Key was used for another message. Use a new key for a new message.';
    throw new AppError('IDEMPOTENCY_KEY_REUSED', message);
  }

  function toAgentRun(
    userDid: string,
    ids: Pick<AgentRun, 'runId' | 'sessionId' | 'requestId' | 'messageId'>,
  ): AgentRun {
    const { runId, sessionId, requestId, messageId } = ids;
    return {
      runId,
      sessionId,
      requestId,
      messageId,
      events: (options) => reader.events(userDid, runId, options),
      async answer(signal = new AbortController().signal) {
        const open = await reader.open(userDid, runId);
        return reader.waitForAnswer(userDid, open, signal).finally(open.leave);
      },
      async state() {
        const state = await runs.state(runId);
        if (!state) throw new AppError('RUN_NOT_FOUND', 'There is no such run.');
        return { status: state.status, changedAt: state.changedAt };
      },
      async question() {
        const question = await messages.question({ sessionId, runId });
        return question && toShown(question);
      },
      async lastEvent() {
        const open = await reader.open(userDid, runId);
        open.leave();
        return open.frames.length;
      },
      approvals: () => approvals.pending(runId),
      abort: () => hub.abort(sessionId, { runId }),
    };
  }

  /** A run of this message, or the one that was begun with the same key before. */
  async function begin(message: OpenMessage, send?: SendKey): Promise<OpenRun> {
    await countSend(message);
    const known = send && (await runs.findSend(message.userDid, send));
    if (known) return openKnown(message.userDid, known, send);
    const begun = await hub.submitOnce(await preparation.prepare(message), send);
    if ('runId' in begun) return { ...begun, leave() {} };
    return openKnown(message.userDid, begun.known, send as SendKey);
  }

  async function resume({ userDid, runId }: { userDid: string; runId: string }): Promise<AgentRun> {
    return toAgentRun(userDid, await reader.find(userDid, runId));
  }

  return {
    begin,

    /** Sends a message and resolves with the answer; rejects with `UNAVAILABLE` where this process stops before it is complete. */
    async send(message: OpenMessage): Promise<Message> {
      const run = await hub.submit(await admit(message));
      const answer = await run.answer.catch(() => undefined);
      const { reason } = run.signal;
      // Cut off by this process's own end, not by any fault of the message: it may be sent again.
      if (!answer || (reason instanceof RunCancelled && reason.by === 'shutdown'))
        throw new AppError('UNAVAILABLE', 'The service stopped before the answer was complete.');
      return answer;
    },

    /** Begins a run and gives it as a stream of events. */
    async open(message: OpenMessage): Promise<AgentRun> {
      const { userDid, key } = message;
      if (key === undefined) return toAgentRun(userDid, await hub.submit(await admit(message)));
      // Its words may be others the second time: the key alone decides.
      const run = await begin(message, { key, bodyHash: '' });
      run.leave();
      return toAgentRun(userDid, run);
    },

    resume,
    listRuns: runs.list,

    async liveRun({ userDid, sessionId }: { userDid: string; sessionId: string }): Promise<AgentRun | undefined> {
      const live = await hub.live(sessionId);
      return live ? resume({ userDid, runId: live.runId }) : undefined;
    },

    /** The frames of a run as they go over the wire. */
    follow: reader.open,
    waitForAnswer: reader.waitForAnswer,
    answerApproval: approvals.answer,
  };
}
