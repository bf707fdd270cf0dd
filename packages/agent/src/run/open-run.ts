import { AppError, type Message } from '@palaver/contract';
import type { RunEvent } from '../plugins/agent-run.ts';
import type { MessageStore } from '../store/messages.ts';
import type { StoredRun } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import type { RunFollower } from './follow-runs.ts';
import { createFrameLog, type FrameLog } from './frame-log.ts';
import { readEvents } from './read-events.ts';
import { hasEnded } from './run-state.ts';
import { toUsageField } from './turn.ts';
import type { TurnHub } from './turn-hub.ts';

export interface RunReaderParts {
  hub: Pick<TurnHub, 'find' | 'isClosing'>;
  runs: Pick<RunStore, 'find'>;
  messages: Pick<MessageStore, 'find'>;
  follower: RunFollower;
}

export interface EventOptions {
  after?: number;
  signal?: AbortSignal;
}

export interface OpenRun {
  runId: string;
  sessionId: string;
  requestId: string;
  messageId: string;
  frames: FrameLog;
  /** The answer of a run of this process; rejects where the run moves to another instance. */
  answer?: Promise<Message>;
  /** The reader has left. */
  leave(): void;
}

export type RunReader = ReturnType<typeof createRunReader>;

/** Runs as their users read them, on whichever instance they run or ran. */
export function createRunReader({ hub, runs, messages, follower }: RunReaderParts) {
  async function open(userDid: string, runId: string, after = 0): Promise<OpenRun> {
    const run = hub.find(runId);
    if (run?.userDid === userDid) return { ...pick(run), frames: run.frames, answer: run.answer, leave() {} };
    const stored = run ? undefined : await runs.find(userDid, runId);
    if (!stored) throw new AppError('RUN_NOT_FOUND', 'There is no such run.');
    const { frames, leave } = await follower.follow({ ...stored, userDid });
    if (frames.length > 0 || !frames.ended) return { ...pick(stored), frames, leave };
    leave();
    // It may have ended since it was looked up.
    const ended = (await runs.find(userDid, runId)) ?? stored;
    const answer = await messages.find(ended.sessionId, ended.messageId);
    return { ...pick(stored), frames: toFrames(ended, answer, after), leave() {} };
  }

  return {
    open,

    /** The ids of a run of this user. */
    async find(userDid: string, runId: string): Promise<RunNames> {
      const run = hub.find(runId);
      const found = run?.userDid === userDid ? run : run ? undefined : await runs.find(userDid, runId);
      if (!found) throw new AppError('RUN_NOT_FOUND', 'There is no such run.');
      return pick(found);
    },

    /** The events after number `after`; follows the run when it moves to another instance. */
    async *events(userDid: string, runId: string, { after = 0, signal }: EventOptions = {}): AsyncGenerator<RunEvent> {
      for (let next = after; ; ) {
        const { frames, leave } = await open(userDid, runId, next);
        try {
          for await (const event of readEvents(frames, next, signal)) {
            next = event.id;
            yield event;
            if (event.name === 'done') return;
          }
        } finally {
          leave();
        }
        if (signal?.aborted) return;
        if (hub.isClosing()) throw new AppError('UNAVAILABLE', 'The service is restarting. Ask for the run again.');
      }
    },

    /** The answer of a run that may have moved to another instance; rejects once `signal` fires. */
    async waitForAnswer(userDid: string, { runId, answer }: OpenRun, signal: AbortSignal): Promise<Message> {
      const here = await answer?.catch(() => undefined);
      if (here) return here;
      if (hub.isClosing()) throw new AppError('UNAVAILABLE', 'The service is restarting. Ask for the run again.');
      const { frames, leave } = await open(userDid, runId);
      await untilEnded(frames, signal).finally(leave);
      const ended = await runs.find(userDid, runId);
      const message = ended && (await messages.find(ended.sessionId, ended.messageId));
      if (!message) throw new AppError('RUN_NOT_FOUND', 'There is no such run.');
      return message;
    },
  };
}

type RunNames = Pick<OpenRun, 'runId' | 'sessionId' | 'requestId' | 'messageId'>;

function pick({ runId, sessionId, requestId, messageId }: RunNames): RunNames {
  return { runId, sessionId, requestId, messageId };
}

function untilEnded(frames: FrameLog, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = () => {
      if (!frames.ended && !signal.aborted) return;
      unwatch();
      signal.removeEventListener('abort', check);
      if (frames.ended) resolve();
      else reject(signal.reason);
    };
    const unwatch = frames.watch(check);
    signal.addEventListener('abort', check);
    check();
  });
}

/** Of a run that never ended, or was stored before errors were. */
const interrupted: NonNullable<Message['error']> = {
  message: 'The turn was interrupted. Please send it again.',
  code: 'UNAVAILABLE',
  kind: 'internal',
  retryable: true,
};

/**
 * A run whose frames have expired, recreated from the stored answer: from the start in a few frames; for somebody who has
 * part of it only how it ended, since the stored answer is there to be read.
 */
function toFrames({ usage, status, ...run }: StoredRun, answer: Message | undefined, after: number): FrameLog {
  const { runId, sessionId, requestId, messageId } = run;
  const { content = '', finish, error = interrupted } = answer ?? {};
  const frames = createFrameLog(after);
  const timestamp = new Date().toISOString();
  if (after === 0) {
    frames.append('run', { runId, sessionId, requestId, messageId });
    if (content !== '') frames.append('message', { content, timestamp });
  }
  const ended = hasEnded(status) ? status : 'failed';
  if (ended === 'failed') {
    const { message, ...kind } = error;
    frames.append('error', { error: message, ...kind, timestamp });
  }
  frames.append('done', { runId, messageId, status: ended, ...(finish && { finish }), ...toUsageField(usage) });
  frames.end();
  return frames;
}
