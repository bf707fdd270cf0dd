import { AppError, type Message } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import { createFairQueue } from '@palaver/service-kit/internal';
import type { Broadcast } from '../cluster/broadcast.ts';
import type { AgentRun, RunEvent } from '../define/agent-run.ts';
import type { MessageStore } from '../store/messages.ts';
import type { RunNames, RunStore, StoredRun } from '../store/runs.ts';
import { createFrameLog, type FrameLog, readEvents, splitFrames, untilFrames } from './frames.ts';
import type { TurnHub } from './hub.ts';
import { toUsageField } from './input.ts';
import { hasEnded } from './transitions.ts';

const pollMs = 1_000;
const announceMs = 5_000;
/** Characters of frames, of all readers and of one user. */
const maxSize = 64 * 1024 * 1024;
const maxSizePerUser = 16 * 1024 * 1024;
/** First reads may be long: others are served in between. */
const firstReads = { atOnce: 3, waiting: 1_000, waitingPerUser: 40 };

export interface FollowParts {
  runs: Pick<RunStore, 'frames' | 'frameBytes' | 'state'>;
  broadcast: Broadcast;
  logger: Logger;
}

type FollowedRun = Pick<StoredRun, 'runId' | 'messageId'> & { userDid: string };

interface Followed {
  userDid: string;
  /** Of the frames that were stored when it was begun. */
  storedSize: number;
  frames: FrameLog;
  readers: number;
  /** Whether its first read, which waits for its place, is done. */
  isRead: boolean;
  read(): Promise<void>;
  timer: NodeJS.Timeout;
  announcing: NodeJS.Timeout;
}

export type RunFollower = ReturnType<typeof createRunFollower>;

/** Frames of runs of other instances, read when their owner announces more, and once a second. All readers of a run share one log. */
export function createRunFollower({ runs, broadcast, logger }: FollowParts) {
  const followed = new Map<string, Followed>();
  const queue = createFairQueue(firstReads);
  const tooMany = () => new AppError('UNAVAILABLE', 'Too many runs are being read. Please read it again in a moment.');

  function add(log: FrameLog, first: number, body: string): void {
    for (const frame of splitFrames(body).slice(Math.max(log.length - first + 1, 0))) log.appendText(frame);
    if (body.includes('event: done\n')) log.end();
  }

  async function readMore({ runId, messageId }: Omit<FollowedRun, 'userDid'>, log: FrameLog): Promise<void> {
    // Asked first: what ends in between is complete at the next look.
    const state = await runs.state(runId);
    for (const { first, body } of (await runs.frames(runId, log.length)) ?? []) {
      if (first <= log.length + 1) add(log, first, body);
    }
    // The session was deleted meanwhile, or the previous version ended the run, which stores no frames.
    const status = state?.status ?? 'aborted';
    if (log.ended || !hasEnded(status)) return;
    if (log.length > 0) log.append('done', { runId, messageId, status });
    log.end();
  }

  /** All frames of a run are in memory while it is read. */
  function checkRoom(userDid: string, size: number): void {
    const all = [...followed.values()];
    const own = all.filter((entry) => entry.userDid === userDid);
    const isFull = (entries: Followed[], most: number) =>
      // One alone may be longer.
      entries.length > 0 &&
      entries.reduce((sum, { storedSize, frames }) => sum + Math.max(storedSize, frames.size), size) > most;
    if (isFull(all, maxSize) || isFull(own, maxSizePerUser)) throw tooMany();
  }

  function start({ userDid, runId, messageId }: FollowedRun, storedSize: number): Followed {
    checkRoom(userDid, storedSize);
    const frames = createFrameLog();
    let reading: Promise<void> | undefined;
    let isFailing = false;
    const read = () => {
      reading ??= readMore({ runId, messageId }, frames)
        .then(
          () => {
            isFailing = false;
          },
          (error) => {
            if (!isFailing) logger.warn({ err: error, runId }, 'frames of a run elsewhere cannot be read');
            isFailing = true;
          },
        )
        .finally(() => {
          reading = undefined;
        });
      return reading;
    };
    const announce = () => broadcast.publish({ kind: 'follow', runId });
    announce();
    const entry: Followed = {
      userDid,
      storedSize,
      frames,
      readers: 0,
      isRead: false,
      read,
      timer: setInterval(() => {
        if (entry.isRead && !frames.ended) void read();
      }, pollMs),
      announcing: setInterval(announce, announceMs),
    };
    followed.set(runId, entry);
    return entry;
  }

  broadcast.onMessage((message) => {
    if (message.kind !== 'frames') return;
    const entry = followed.get(message.runId);
    if (!entry) return;
    const { frames } = entry;
    if (message.body !== undefined && message.first <= frames.length + 1) add(frames, message.first, message.body);
    else if (entry.isRead) void entry.read();
  });

  async function readFirst(entry: Followed): Promise<boolean> {
    const isRead = await queue.run(entry, () => entry.read().then(() => true));
    entry.isRead ||= isRead ?? false;
    return entry.isRead;
  }

  return {
    async follow(run: FollowedRun) {
      const { runId } = run;
      const size = followed.has(runId) ? 0 : await runs.frameBytes(runId);
      // Checked and taken in one tick: the second of two that ask at once finds what the first has taken.
      const entry = followed.get(runId) ?? start(run, size);
      entry.readers += 1;
      const leave = () => {
        entry.readers -= 1;
        if (entry.readers > 0) return;
        clearInterval(entry.timer);
        clearInterval(entry.announcing);
        if (followed.get(runId) === entry) followed.delete(runId);
      };
      if (entry.isRead) await entry.read();
      else if (!(await readFirst(entry))) {
        leave();
        throw tooMany();
      }
      return { frames: entry.frames, leave };
    },
    count: () => followed.size,
  };
}

export interface RunReaderParts {
  hub: Pick<TurnHub, 'find' | 'isClosing'>;
  runs: Pick<RunStore, 'find'>;
  messages: Pick<MessageStore, 'find'>;
  follower: RunFollower;
}

export interface OpenRun extends RunNames {
  frames: FrameLog;
  /** The answer of a run of this process; rejects where the run moves to another instance. */
  answer?: Promise<Message>;
  leave(): void;
}

export type RunReader = ReturnType<typeof createRunReader>;

export function createRunReader({ hub, runs, messages, follower }: RunReaderParts) {
  async function open(userDid: string, runId: string, after = 0): Promise<OpenRun> {
    const run = hub.find(runId);
    if (run?.userDid === userDid) return { ...toNames(run), frames: run.frames, answer: run.answer, leave() {} };
    const stored = run ? undefined : await runs.find(userDid, runId);
    if (!stored) throw new AppError('RUN_NOT_FOUND', 'There is no such run.');
    const { frames, leave } = await follower.follow({ ...stored, userDid });
    if (frames.length > 0 || !frames.ended) return { ...toNames(stored), frames, leave };
    leave();
    // It may have ended since it was looked up.
    const ended = (await runs.find(userDid, runId)) ?? stored;
    const answer = await messages.find(ended.sessionId, ended.messageId);
    return { ...toNames(stored), frames: toFrames(ended, answer, after), leave() {} };
  }

  return {
    open,

    async find(userDid: string, runId: string): Promise<RunNames> {
      const run = hub.find(runId);
      const found = run?.userDid === userDid ? run : run ? undefined : await runs.find(userDid, runId);
      if (!found) throw new AppError('RUN_NOT_FOUND', 'There is no such run.');
      return toNames(found);
    },

    /** The events after number `after`; follows the run when it moves to another instance. */
    async *events(
      userDid: string,
      runId: string,
      { after = 0, signal }: Parameters<AgentRun['events']>[0] = {},
    ): AsyncGenerator<RunEvent> {
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
      await untilFrames(frames, () => frames.ended, signal).finally(leave);
      if (!frames.ended) throw signal.reason;
      const ended = await runs.find(userDid, runId);
      const message = ended && (await messages.find(ended.sessionId, ended.messageId));
      if (!message) throw new AppError('RUN_NOT_FOUND', 'There is no such run.');
      return message;
    },
  };
}

export function toNames({ runId, sessionId, requestId, messageId }: RunNames): RunNames {
  return { runId, sessionId, requestId, messageId };
}

/** Of a run that never ended, or was stored before errors were. */
const interrupted: NonNullable<Message['error']> = {
  message: 'The turn was interrupted. Please send it again.',
  code: 'UNAVAILABLE',
  kind: 'internal',
  retryable: true,
};

/** A run whose frames have expired, recreated from the stored answer; only its end for a reader who has part of it. */
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
