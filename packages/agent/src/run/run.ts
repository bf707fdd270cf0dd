import type {
  Approval,
  EndedRunStatus,
  Message,
  MessageFinish,
  RunStatus,
  SseEvent,
  SseEventData,
  SseEventName,
} from '@palaver/contract';
import { createFrameLog, type FrameLog, parseFrame, splitFrames, toFrame } from './frame-log.ts';
import { createMessageBuilder, stoppedMessage } from './message-builder.ts';
import { hasEnded, nextRunStatus, type RunStep } from './run-state.ts';
import { toUsageField, type Usage, type UsageByModel } from './turn.ts';

/** Sends one event of a run to everyone who follows it. */
export type Emit = <Name extends SseEventName>(name: Name, data: SseEventData[Name]) => void;

/** A turn in progress: its state, its frames, the answer so far. */
export interface Run {
  readonly runId: string;
  readonly sessionId: string;
  readonly userDid: string;
  readonly requestId: string;
  readonly messageId: string;
  readonly status: RunStatus;
  readonly frames: FrameLog;
  /** What models have used so far. */
  readonly usage: Usage;
  readonly signal: AbortSignal;
  /** The answer once the run has ended. */
  readonly answer: Promise<Message>;
  emit: Emit;
  usageByModel(): UsageByModel;
  addUsage(usage: UsageByModel): void;
  /** Makes a step if the state allows it. */
  step(step: RunStep): boolean;
  /** Cancels the work; what ends the run says with which status. */
  cancel(reason: unknown): void;
  /** The approvals that were asked so far. */
  approvals(): Approval[];
  /** Reports that the calls still under way, and approvals without an answer, were stopped with the run. */
  stopCalls(): void;
  /** Says why the answer, which is there, is not whole. */
  setFinish(finish: MessageFinish): void;
  draft(status: EndedRunStatus): Message;
  /** The frame `done` as it will be. */
  toDone(status: EndedRunStatus): string;
  /** Sends `done`, the last frame. The answer's status is the run's: an abort may have been confirmed at the last moment. */
  finish(answer: Message, error?: SseEventData['error']): void;
  /** Ends the streams here without `done`: the run continues on another instance. */
  leave(reason: Error): void;
}

export interface RunIds {
  runId: string;
  sessionId: string;
  userDid: string;
  requestId: string;
  messageId: string;
}

export interface RunOptions {
  onEvent(event: SseEvent): void;
  /** The frames of an earlier owner, which this run continues. */
  earlier?: string;
  /** When it begins. */
  now?: number;
}

export function createRun(ids: RunIds, { onEvent, earlier = '', now = Date.now() }: RunOptions): Run {
  const frames = createFrameLog();
  const controller = new AbortController();
  const answered = Promise.withResolvers<Message>();
  const builder = createMessageBuilder({
    id: ids.messageId,
    createdAt: new Date(now).toISOString(),
    requestId: ids.requestId,
  });
  const usage: Usage = { inputTokens: 0, outputTokens: 0 };
  const used = new Map<string, Usage>();
  let status: RunStatus = 'queued';
  for (const frame of splitFrames(earlier)) {
    frames.appendText(frame);
    builder.add(parseFrame(frame));
  }
  // Nobody may be waiting for the answer of a run that moves to another instance.
  answered.promise.catch(() => {});

  const toDoneData = ({ status: ended, finish }: Message): SseEventData['done'] => ({
    runId: ids.runId,
    messageId: ids.messageId,
    status: ended,
    ...(finish && { finish }),
    ...toUsageField(usage),
  });

  const toStopped = (approval: Approval): SseEventData['approval_request'] => {
    const { runId, sessionId, requestId } = ids;
    return { runId, sessionId, requestId, ...approval, status: 'refused', reason: stoppedMessage };
  };

  const run: Run = {
    ...ids,
    frames,
    usage,
    signal: controller.signal,
    answer: answered.promise,
    get status() {
      return status;
    },
    emit(name, data) {
      // Work that has not noticed its cancellation may still emit events; they are dropped.
      if (hasEnded(status)) return;
      const part = builder.add({ name, data } as SseEvent);
      const sent = part === undefined ? data : { ...data, part };
      frames.append(name, sent);
      onEvent({ name, data: sent } as SseEvent);
    },
    usageByModel: () => Object.fromEntries(used),
    addUsage(more) {
      for (const [model, { inputTokens, outputTokens }] of Object.entries(more)) {
        const before = used.get(model) ?? { inputTokens: 0, outputTokens: 0 };
        used.set(model, {
          inputTokens: before.inputTokens + inputTokens,
          outputTokens: before.outputTokens + outputTokens,
        });
        usage.inputTokens += inputTokens;
        usage.outputTokens += outputTokens;
      }
    },
    step(step) {
      const next = nextRunStatus(status, step);
      if (next === undefined) return false;
      status = next;
      return true;
    },
    cancel: (reason) => controller.abort(reason),
    approvals: builder.approvals,
    stopCalls() {
      for (const approval of builder.approvals())
        if (approval.status === 'pending') run.emit('approval_request', toStopped(approval));
      for (const { name, data } of builder.openCalls())
        run.emit(name, { ...data, status: 'error', error: stoppedMessage });
    },
    setFinish: builder.setFinish,
    draft: (ended) => builder.toMessage(ended),
    toDone: (ended) => toFrame(frames.length + 1, 'done', toDoneData(builder.toMessage(ended))),
    finish(answer, error) {
      status = answer.status;
      if (error) frames.append('error', error);
      frames.append('done', toDoneData(answer));
      frames.end();
      answered.resolve(answer);
    },
    leave(reason) {
      frames.end();
      answered.reject(reason);
    },
  };
  return run;
}
