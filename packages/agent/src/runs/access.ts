import { randomUUID } from 'node:crypto';
import { AppError, type Message } from '@palaver/contract';
import { invalid } from '@palaver/contract/internal';
import { type RateLimit, toRateError } from '@palaver/service-kit/internal';
import type { AgentRun, OpenMessage } from '../define/agent-run.ts';
import type { PendingSend } from '../define/middleware.ts';
import type { Models } from '../models/create-models.ts';
import { toShown } from '../store/message.ts';
import type { MessageStore } from '../store/messages.ts';
import type { SendKey } from '../store/run-writes.ts';
import type { InterruptedRun, RunNames, RunStore } from '../store/runs.ts';
import type { SessionStore } from '../store/sessions.ts';
import type { RunApprovals } from './approvals.ts';
import { type OpenRun, type RunReader, toNames } from './follow.ts';
import type { TurnHub } from './hub.ts';
import {
  checkCallerInput,
  createBlobStore,
  matchResults,
  parseStoredInput,
  type RunInput,
  type Turn,
} from './input.ts';
import { RunCancelled } from './run.ts';

interface RunAccessParts {
  hub: Pick<TurnHub, 'begin' | 'beginOnce' | 'abort' | 'live'>;
  approvals: Pick<RunApprovals, 'answer' | 'pending'>;
  runs: Pick<RunStore, 'findSend' | 'list' | 'state'>;
  messages: Pick<MessageStore, 'question'>;
  reader: RunReader;
  preparation: TurnPreparation;
  sendLimit: RateLimit;
}

export type RunAccess = ReturnType<typeof createRunAccess>;

/** The send limit and all gates are here: doors and plugins have no other way to the hub. */
export function createRunAccess({ hub, approvals, runs, messages, reader, preparation, sendLimit }: RunAccessParts) {
  async function admit(message: OpenMessage): Promise<Turn> {
    const standing = await sendLimit(message.userDid);
    message.onCounted?.(standing);
    if (standing?.isOver) throw toRateError(standing);
    return preparation.prepare(message);
  }

  function openKnown(userDid: string, known: { runId: string; bodyHash: string }, send: SendKey): Promise<OpenRun> {
    if (known.bodyHash === send.bodyHash) return reader.open(userDid, known.runId);
    const message = 'This Idempotency-Key was used for another message. Use a new key for a new message.';
    throw new AppError('IDEMPOTENCY_KEY_REUSED', message);
  }

  function toAgentRun(userDid: string, run: RunNames): AgentRun {
    const { runId, sessionId } = run;
    return {
      ...toNames(run),
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
    // Before the limit: what is known already is no new message.
    const known = send && (await runs.findSend(message.userDid, send));
    if (known) return openKnown(message.userDid, known, send);
    const begun = await hub.beginOnce(await admit(message), send);
    if ('runId' in begun) return { ...begun, leave() {} };
    return openKnown(message.userDid, begun.known, send as SendKey);
  }

  async function resume({ userDid, runId }: { userDid: string; runId: string }): Promise<AgentRun> {
    return toAgentRun(userDid, await reader.find(userDid, runId));
  }

  return {
    begin,

    /** Rejects with `UNAVAILABLE` if this process stops before the answer is complete. */
    async send(message: OpenMessage): Promise<Message> {
      const run = await hub.begin(await admit(message));
      const answer = await run.answer.catch(() => undefined);
      const { reason } = run.signal;
      // Cut off by this process's own end, not by any fault of the message: it may be sent again.
      if (!answer || (reason instanceof RunCancelled && reason.by === 'shutdown'))
        throw new AppError('UNAVAILABLE', 'The service stopped before the answer was complete.');
      return answer;
    },

    async open(message: OpenMessage): Promise<AgentRun> {
      const { userDid, key } = message;
      if (key === undefined) return toAgentRun(userDid, await hub.begin(await admit(message)));
      // The words may differ the second time: the key alone decides.
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

    follow: reader.open,
    waitForAnswer: reader.waitForAnswer,
    answerApproval: approvals.answer,
  };
}

export interface PrepareParts {
  sessions: Pick<SessionStore, 'find'>;
  messages: Pick<MessageStore, 'question' | 'last' | 'isQuestion'>;
  runs: Pick<RunStore, 'input'>;
  models: Models;
  beforeSend(send: PendingSend): Promise<void>;
  beforeResume(send: PendingSend): Promise<void>;
}

export type TurnPreparation = ReturnType<typeof createTurnPreparation>;

/** Everything that can be refused is refused here, before a byte of a stream goes out. */
export function createTurnPreparation(parts: PrepareParts) {
  const { sessions, messages, models } = parts;

  return {
    /** What `beforeSend` has let in must be handed to the hub, which reports its end. */
    async prepare({ userDid, sessionId, requestId, body, timezone, ...request }: OpenMessage): Promise<Turn> {
      const input = checkCallerInput(request, body);
      const session = await sessions.find(userDid, sessionId);
      if (!session) throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
      if (body.replaces !== undefined && !(await messages.isQuestion(sessionId, body.replaces)))
        throw invalid('replaces', 'must be the id of a question of this conversation');
      const model = models.choose(body.model).modelId;
      const results = request.results && matchResults(request.results, await messages.last(sessionId));
      const user = { did: userDid, delegation: request.delegation };
      const { client, socketId, call, key } = request;
      const secrets = { ...request.secrets, ...(body.homeServer && { matrixHomeserver: body.homeServer }) };
      const sent = { sendId: randomUUID(), requestId, model, secrets, blobs: createBlobStore() };
      await parts.beforeSend({ ...sent, userDid, sessionId, message: body, client }).catch((error) => {
        sent.blobs.release();
        throw error;
      });
      const isKeyed = key !== undefined;
      return { ...sent, ...input, session, user, body, results, timezone, socketId, client, call, isKeyed };
    },

    async loadInput({ runId, sessionId }: { runId: string; sessionId: string }): Promise<RunInput | undefined> {
      const [input, question] = await Promise.all([parts.runs.input(runId), messages.question({ sessionId, runId })]);
      return input !== null && question ? parseStoredInput(input, question) : undefined;
    },

    /** Of a run whose owner died; undefined if it cannot be continued. */
    async restore({ runId, sessionId, userDid, requestId, model, input }: InterruptedRun): Promise<Turn | undefined> {
      const [session, question] = await Promise.all([
        sessions.find(userDid, sessionId),
        messages.question({ sessionId, runId }),
      ]);
      const sent = input !== null && question && parseStoredInput(input, question);
      if (!session || !sent) return undefined;
      const turn = { ...sent, requestId, model, secrets: {}, blobs: createBlobStore() };
      await parts.beforeResume({ ...turn, userDid, sessionId, message: sent.body });
      // They are read when the run continues.
      turn.blobs.release();
      return { ...turn, session, user: { did: userDid, delegation: undefined } };
    },
  };
}
