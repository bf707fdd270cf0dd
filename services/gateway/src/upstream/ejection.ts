// Whether a node has failed so often in a row that calls are better sent elsewhere for a while.
import type { GrpcAnswer } from './call.ts';
import type { Interceptor } from './send.ts';

/** Calls that fail in a row before a node is set aside, and for how long at first. */
const failuresToEject = 5;
const ejectMs = 1_000;
const maxEjectMs = 30_000;
/** A wait that ended sooner, by the caller or by the caller's own deadline, says nothing about the node. */
const shortWaitMs = 100;

export interface Ejection {
  isEjected(): boolean;
  /** After a new connection: what the old one did no longer counts. */
  clear(): void;
  /** Around calls of clients: each answer counts. */
  count: Interceptor;
  /** Around the gateway's own small questions: a node may answer those while its queries hang, so only failures count. */
  countFailures: Interceptor;
}

export function createEjection(): Ejection {
  let failures = 0;
  let ejections = 0;
  let ejectedUntil = 0;
  let answeredAt = 0;

  /** A call that ended without an answer counts when the node was silent to all others as well while it waited. */
  const record = (answer: GrpcAnswer, sentAt: number) => {
    const isSilent = !answer.ok && answer.fault === 'cancelled';
    if (isSilent) {
      if (answeredAt >= sentAt || performance.now() - sentAt < shortWaitMs) return;
    } else {
      answeredAt = performance.now();
    }
    const failed = isSilent || (!answer.ok && answer.fault === 'unreachable');
    failures = failed ? failures + 1 : 0;
    if (!failed) ejections = 0;
    if (failures < failuresToEject) return;
    failures = 0;
    ejectedUntil = Date.now() + Math.min(maxEjectMs, ejectMs * 2 ** ejections);
    ejections += 1;
  };
  const countWhere =
    (counts: (answer: GrpcAnswer) => boolean): Interceptor =>
    (send) =>
    (request, done) => {
      const sentAt = performance.now();
      return send(request, (answer) => {
        if (counts(answer)) record(answer, sentAt);
        done(answer);
      });
    };
  return {
    isEjected: () => Date.now() < ejectedUntil,
    clear() {
      failures = 0;
      ejectedUntil = 0;
    },
    count: countWhere(() => true),
    countFailures: countWhere((answer) => !answer.ok && answer.fault !== undefined),
  };
}
