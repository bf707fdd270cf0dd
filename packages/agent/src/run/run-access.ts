import { AppError, type Message } from '@palaver/contract';
import type { RunStore, SendKey } from '../store/runs.ts';
import type { OpenRun, RunReader } from './open-run.ts';
import type { SendRequest, TurnPreparation } from './prepare-turn.ts';
import { RunCancelled } from './stream-error.ts';
import type { TurnHub } from './turn-hub.ts';

export interface RunAccessParts {
  hub: Pick<TurnHub, 'submit' | 'submitOnce'>;
  runs: Pick<RunStore, 'findSend'>;
  reader: RunReader;
  preparation: TurnPreparation;
}

export type RunAccess = ReturnType<typeof createRunAccess>;

/** How doors and plugins begin runs and read them. There is no other way to the hub. */
export function createRunAccess({ hub, runs, reader, preparation }: RunAccessParts) {
  function openKnown(userDid: string, known: { runId: string; bodyHash: string }, send: SendKey): Promise<OpenRun> {
    if (known.bodyHash === send.bodyHash) return reader.open(userDid, known.runId);
    const message = 'This Idempotency-Key was used for another message. Use a new key for a new message.';
    throw new AppError('IDEMPOTENCY_KEY_REUSED', message);
  }

  return {
    /** A run of this message, or the one that was begun with the same key before. */
    async begin(request: SendRequest, send?: SendKey): Promise<OpenRun> {
      const known = send && (await runs.findSend(request.userDid, send.key));
      if (known) return openKnown(request.userDid, known, send);
      const begun = await hub.submitOnce(await preparation.prepare(request), send);
      if ('runId' in begun) return { ...begun, leave() {} };
      return openKnown(request.userDid, begun.known, send as SendKey);
    },

    /** Sends a message and resolves with the answer; rejects with `UNAVAILABLE` where this process stops before it is complete. */
    async send(request: SendRequest): Promise<Message> {
      const run = await hub.submit(await preparation.prepare(request));
      const answer = await run.answer.catch(() => undefined);
      const { reason } = run.signal;
      // Cut off by this process's own end, not by any fault of the message: it may be sent again.
      if (!answer || (reason instanceof RunCancelled && reason.by === 'shutdown'))
        throw new AppError('UNAVAILABLE', 'The service stopped before the answer was complete.');
      return answer;
    },

    open: reader.open,
    waitForAnswer: reader.waitForAnswer,
  };
}
