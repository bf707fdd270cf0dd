import { randomUUID } from 'node:crypto';
import { AppError } from '@palaver/contract';
import type { Models } from '../models/create-models.ts';
import type { OpenMessage } from '../plugins/agent-run.ts';
import type { PendingSend } from '../plugins/middleware.ts';
import type { InterruptedRun, InterruptedRuns } from '../store/interrupted-runs.ts';
import type { MessageStore } from '../store/messages.ts';
import type { SessionStore } from '../store/sessions.ts';
import { checkCallerInput, invalid, matchResults } from './caller-input.ts';
import { parseStoredInput, type RunInput } from './run-input.ts';
import type { Turn } from './turn.ts';
import { createBlobStore } from './turn-blobs.ts';

export interface PrepareParts {
  sessions: Pick<SessionStore, 'find'>;
  messages: Pick<MessageStore, 'question' | 'last' | 'isQuestion'>;
  interrupted: Pick<InterruptedRuns, 'input'>;
  models: Models;
  /** Asks the plugins whether a message may be taken in; they throw to refuse it. */
  beforeSend(send: PendingSend): Promise<void>;
  /** Has plugins say where the files of a message are read again. */
  beforeResume(send: PendingSend): Promise<void>;
}

export type TurnPreparation = ReturnType<typeof createTurnPreparation>;

/** Makes the turn of a message: everything that can be refused is refused here, before a byte of a stream goes out. */
export function createTurnPreparation(parts: PrepareParts) {
  const { sessions, messages, models } = parts;

  return {
    /** Of a new message. What `beforeSend` has let in must be handed to the hub, which reports its end. */
    async prepare({ userDid, sessionId, requestId, body, timezone, ...request }: OpenMessage): Promise<Turn> {
      const { callerTools, earlier, context } = checkCallerInput(request, body);
      const session = await sessions.find(userDid, sessionId);
      if (!session) throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
      if (body.replaces !== undefined && !(await messages.isQuestion(sessionId, body.replaces)))
        throw invalid('replaces', 'must be the id of a question of this conversation');
      const model = models.choose(body.model).modelId;
      const results = request.results && matchResults(request.results, await messages.last(sessionId));
      const user = { did: userDid, delegation: request.delegation };
      const { client, socketId } = request;
      const secrets = { ...request.secrets, ...(body.homeServer && { matrixHomeserver: body.homeServer }) };
      const sent = { sendId: randomUUID(), requestId, model, secrets, blobs: createBlobStore() };
      await parts.beforeSend({ ...sent, userDid, sessionId, message: body, client }).catch((error) => {
        sent.blobs.release();
        throw error;
      });
      const { call } = request;
      const isKeyed = request.key !== undefined;
      return {
        ...sent,
        session,
        user,
        body,
        timezone,
        socketId,
        client,
        isKeyed,
        callerTools,
        results,
        earlier,
        context,
        call,
      };
    },

    /** What a message brought, as its run stored it; undefined if it cannot be read. */
    async loadInput({ runId, sessionId }: { runId: string; sessionId: string }): Promise<RunInput | undefined> {
      const [input, question] = await Promise.all([
        parts.interrupted.input(runId),
        messages.question({ sessionId, runId }),
      ]);
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
