import { AppError } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { Broadcast } from '../cluster/broadcast.ts';
import type { RunStore } from '../store/runs.ts';
import { createFrameLog, type FrameLog, splitFrames } from './frame-log.ts';
import { hasEnded } from './run-state.ts';

const pollMs = 1_000;
const announceMs = 5_000;
/** Characters of frames, of all readers and of one user. */
const maxSize = 64 * 1024 * 1024;
const maxSizePerUser = 16 * 1024 * 1024;

export interface FollowParts {
  runs: Pick<RunStore, 'frames' | 'state'>;
  broadcast: Broadcast;
  logger: Logger;
}

export interface Following {
  frames: FrameLog;
  /** The reader has left. With the last one, nothing is left behind. */
  leave(): void;
}

export interface FollowedRun {
  userDid: string;
  runId: string;
  messageId: string;
}

interface Followed {
  userDid: string;
  frames: FrameLog;
  readers: number;
  read(): Promise<void>;
  timer: NodeJS.Timeout;
  announcing: NodeJS.Timeout;
}

export type RunFollower = ReturnType<typeof createRunFollower>;

/**
 * The frames of runs that other instances carry out, read from the database: when their owner says that there are more, and
 * once a second in case word of it was lost. All readers of a run share one log.
 */
export function createRunFollower({ runs, broadcast, logger }: FollowParts) {
  const followed = new Map<string, Followed>();

  function add(log: FrameLog, first: number, body: string): void {
    const known = log.length - first + 1;
    for (const frame of splitFrames(body).slice(Math.max(known, 0))) log.appendText(frame);
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
  function checkRoom(userDid: string): void {
    const sizes = (entries: Followed[]) => entries.reduce((sum, { frames }) => sum + frames.size, 0);
    const all = [...followed.values()];
    if (sizes(all) > maxSize || sizes(all.filter((entry) => entry.userDid === userDid)) > maxSizePerUser)
      throw new AppError('UNAVAILABLE', 'Too many runs are being read. Please read it again in a moment.');
  }

  function start({ userDid, runId, messageId }: FollowedRun): Followed {
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
    return {
      userDid,
      frames,
      readers: 0,
      read,
      timer: setInterval(() => {
        if (!frames.ended) void read();
      }, pollMs),
      announcing: setInterval(announce, announceMs),
    };
  }

  broadcast.onMessage((message) => {
    if (message.kind !== 'frames') return;
    const entry = followed.get(message.runId);
    if (!entry) return;
    const { frames } = entry;
    if (message.body !== undefined && message.first <= frames.length + 1) add(frames, message.first, message.body);
    else void entry.read();
  });

  return {
    /** Reads what there is, then follows. */
    async follow(run: FollowedRun): Promise<Following> {
      const { runId } = run;
      const known = followed.get(runId);
      if (!known) checkRoom(run.userDid);
      const entry = known ?? start(run);
      followed.set(runId, entry);
      entry.readers += 1;
      const leave = () => {
        entry.readers -= 1;
        if (entry.readers > 0) return;
        clearInterval(entry.timer);
        clearInterval(entry.announcing);
        if (followed.get(runId) === entry) followed.delete(runId);
      };
      await entry.read();
      return { frames: entry.frames, leave };
    },
    /** Runs that are followed now. */
    count: () => followed.size,
  };
}
