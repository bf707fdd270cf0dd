import type { PluginContext } from '@palaver/agent';
import { AppError, type EndedRunStatus } from '@palaver/contract';
import { scheduledMessagePrefix } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import { unreadableText } from '@palaver/store/internal';
import { findNextRun } from './tasks-schedule.ts';
import type { ClaimedTask, TaskStore } from './tasks-store.ts';

export interface TaskRunnerParts {
  tasks: TaskStore;
  /** Opens the run `begun` where there is one, whatever became of its key. */
  open(message: Parameters<PluginContext['open']>[0], begun?: string): ReturnType<PluginContext['open']>;
  instance: string;
  pollMs: number;
  logger: Logger;
}

const leaseMs = 60_000;
const atOnce = 20;
/** The other places are for other addresses, whatever one address has scheduled. */
const atOncePerClient = 10;
const retryMs = 60_000;
/** A task holds a place while it begins: its run continues without one. */
const followMs = 30_000;
const maxAttempts = 3;
const maxFailures = 10;
const lateMs = 5 * 60_000;

export type TaskRunner = ReturnType<typeof createTaskRunner>;

/** Runs due tasks, each under a lease: if its instance dies, another finds its run. Missed runs become one late run. */
export function createTaskRunner({ tasks, open, instance, pollMs, logger }: TaskRunnerParts) {
  const running = new Map<Promise<void>, ClaimedTask>();
  let polling: ReturnType<typeof runEvery> | undefined;
  const stopping = new AbortController();

  /** False if the agent takes in nothing now: the next task waits for the next poll. */
  async function run(task: ClaimedTask): Promise<boolean> {
    const renewing = setInterval(() => {
      tasks
        .renew(task.id, instance, leaseMs)
        .catch((error) => logger.warn({ err: error, taskId: task.id }, 'the lease of a task was not renewed'));
    }, leaseMs / 3);
    try {
      const status = task.prompt === unreadableText ? 'failed' : await send(task);
      if (status === 'waiting') await tasks.postpone(task.id, instance, toLater(0));
      else await finish(task, status === 'failed');
      return true;
    } catch (error) {
      await giveBack(task, error);
      return !(error instanceof AppError && error.code === 'UNAVAILABLE');
    } finally {
      clearInterval(renewing);
    }
  }

  /** How the run of the task has ended; `waiting` where that may take long: it is looked at again later. */
  async function send(task: ClaimedTask): Promise<EndedRunStatus | 'waiting'> {
    const { id, userDid, sessionId, timezone, client, dueAt, runId } = task;
    const message = {
      userDid,
      sessionId,
      timezone,
      client,
      requestId: `task-${id}`,
      key: `${id} ${dueAt}`,
      body: { message: toText(task), stream: false, returnAllMessages: false },
    };
    const run = await open(message, runId);
    // Approvals may take longer than keys are kept.
    if (runId === undefined) await tasks.keepRun(id, instance, run.runId);
    if ((await run.state()).status === 'queued') return 'waiting';
    const followed = AbortSignal.timeout(followMs);
    for await (const { name, data } of run.events({ signal: AbortSignal.any([stopping.signal, followed]) })) {
      if (name === 'done') return data.status;
      if (name === 'approval_request' && (await run.approvals()).length > 0) return 'waiting';
    }
    if (followed.aborted) return 'waiting';
    throw new AppError('UNAVAILABLE', 'The run of the task could not be followed to its end.');
  }

  async function finish(task: ClaimedTask, failed: boolean): Promise<void> {
    const ranAt = Date.now();
    const failures = failed ? task.failures + 1 : 0;
    const isOver = task.schedule.kind === 'once' || failures >= maxFailures;
    const nextRunAt = isOver ? undefined : findNextRun(task, ranAt, task.dueAt);
    const status = nextRunAt !== undefined ? 'active' : failed ? 'failed' : 'done';
    await tasks.finish(task.id, instance, { status, nextRunAt, ranAt, failures });
  }

  /** The message was not taken in (the session is busy, the credit used up), or its answer was cut off by our own end. */
  async function giveBack(task: ClaimedTask, error: unknown): Promise<void> {
    const code = error instanceof AppError ? error.code : undefined;
    logger.warn({ err: error, taskId: task.id }, 'a task could not be run');
    if (code === 'SESSION_NOT_FOUND') await tasks.cancel(task.userDid, task.id);
    else if (code === 'UNAVAILABLE') await tasks.postpone(task.id, instance, { waitMs: 0, attempts: task.attempts });
    else if (task.attempts + 1 >= maxAttempts) await finish(task, true);
    else await tasks.postpone(task.id, instance, toLater(task.attempts + 1));
  }

  async function tick(): Promise<void> {
    const limit = atOnce - running.size;
    if (limit <= 0 || stopping.signal.aborted) return;
    const clients = [...running.values()].map(({ clientHash }) => clientHash);
    const options = { instance, leaseMs, limit, perClient: atOncePerClient, running: clients };
    for (const task of await tasks.claim(options)) {
      const work = run(task)
        .then((isNext) => {
          if (isNext) polling?.soon();
        })
        .catch((error) =>
          logger.error({ err: error, taskId: task.id }, 'a task was not booked; its lease will run out'),
        )
        .finally(() => running.delete(work));
      running.set(work, task);
    }
  }

  return {
    start(): void {
      polling = runEvery({
        everyMs: pollMs,
        work: tick,
        onFault: (error) => logger.warn({ err: error }, 'tasks could not be looked up'),
      });
    },
    tick,
    async stop(): Promise<void> {
      // The run of a task may be another instance's: whoever takes the task next follows it.
      stopping.abort();
      await polling?.stop();
      await Promise.allSettled(running.keys());
    },
  };
}

const toLater = (attempts: number) => ({ waitMs: retryMs, attempts });

function toText({ prompt, dueAt }: ClaimedTask): string {
  const isLate = Date.now() - dueAt > lateMs;
  const note = isLate ? `\n(It was due at ${new Date(dueAt).toISOString()}; it could not run earlier.)` : '';
  return `${scheduledMessagePrefix} ${prompt}${note}`;
}
