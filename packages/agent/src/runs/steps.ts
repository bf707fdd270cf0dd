import type { Approval } from '@palaver/contract';
import type { Capability } from '@palaver/ucan';
import type { ModelResult } from '../define/middleware.ts';
import type { GatedCall, GatedStep } from '../store/approvals.ts';
import type { OwnedRun } from '../store/run-transitions.ts';
import type { StepBegin } from '../store/run-writes.ts';
import type { RunStore, StoredStep } from '../store/runs.ts';
import type { UsageByModel } from './input.ts';
import { findStop } from './queue.ts';
import { type Run, RunCancelled } from './run.ts';

export interface ToolOutcome {
  output?: unknown;
  error?: string;
  /** The caller runs the tool: the run ends here. */
  isHandedOff?: boolean;
}

export interface RecordedStep {
  result: Pick<ModelResult, 'text' | 'toolCalls' | 'content'>;
  /** Undefined if the owner died while the tools ran, which happens only to tools that may run again. */
  outcomes: ToolOutcome[] | undefined;
}

export interface AskedCalls {
  calls: GatedCall[];
  /** Of the tools of all calls of the step, by call: an approval is for that tool alone. */
  fingerprints: Record<string, string | undefined>;
}

interface StepBody {
  result: RecordedStep['result'];
  usage: UsageByModel;
  isRepeatable: boolean;
  /** The calls that run only with an approval. */
  gated?: string[];
  fingerprints?: AskedCalls['fingerprints'];
  /** Beside `gated`: the tools may run again where their owner died. */
  isGatedRepeatable?: boolean;
}

interface StepOutcomes {
  outcomes: ToolOutcome[];
  /** Of the run until its tools ended: sub-agents have used models too. */
  usage: UsageByModel;
}

export interface RecordedRun {
  steps: StoredStep[];
  approvals: Approval[];
  signed?: ReadonlyMap<string, string>;
  /** Its owner died while it ran. */
  hasBegun?: boolean;
}

export interface StepParts {
  run: Run;
  owned: OwnedRun;
  runs: Pick<RunStore, 'beginStep' | 'endStep' | 'state'>;
  ask(step: GatedStep): Promise<'asked' | 'too-many' | 'not-owned'>;
  recorded: RecordedRun;
  /** Frames that report the calls are stored with them. */
  flush(): Promise<unknown>;
  onBegin(isRepeatable: boolean): void;
  onEnd(outcomes: ToolOutcome[]): void;
}

export type RunSteps = ReturnType<typeof createRunSteps>;

/** The steps of a run, recorded so that no tool runs twice when another instance takes over. */
export function createRunSteps({ run, owned, runs, recorded, ...parts }: StepParts) {
  const { steps: stored, approvals } = recorded;
  const bodies = stored.map(({ body }) => JSON.parse(body) as StepBody);
  const gated = new Set(bodies.flatMap((body) => body.gated ?? []));
  const fingerprints = new Map(bodies.flatMap((body) => Object.entries(body.fingerprints ?? {})));
  const last = stored.at(-1);
  const { content: sent, reasoning = '' } = run.draft('failed');
  let number = stored.length - (last?.outcomes === null ? 1 : 0);

  const toStop = async () => (await findStop(owned, runs)) ?? new RunCancelled('new-owner');
  const toStep = (
    { text, toolCalls, content }: RecordedStep['result'],
    how: Omit<StepBody, 'result' | 'usage'>,
  ): StepBegin => {
    const result = { text, toolCalls, ...(content && { content }) };
    const body: StepBody = { result, usage: run.usageByModel(), ...how };
    return { ...owned, number, said: run.draft('failed').content.length, body: JSON.stringify(body) };
  };

  return {
    earlier: stored.map(
      ({ outcomes }, index): RecordedStep => ({
        result: (bodies[index] as StepBody).result,
        outcomes: outcomes === null ? undefined : (JSON.parse(outcomes) as StepOutcomes).outcomes,
      }),
    ),
    /** What an earlier owner streamed after its last step. */
    said: { text: sent.slice(last?.said ?? 0), reasoning: last ? '' : reasoning },
    /** Before the tools of a step run. Throws where the run has another owner by now, or its abort is confirmed. */
    async begin(result: ModelResult, isRepeatable: boolean): Promise<void> {
      parts.onBegin(isRepeatable);
      run.signal.throwIfAborted();
      if (!(await runs.beginStep(toStep(result, { isRepeatable })))) throw await toStop();
    },
    /** In place of `begin`, for the steps of a sub-agent, which are not recorded. */
    async check(): Promise<void> {
      const stop = await findStop(owned, runs);
      if (stop) throw stop;
    },
    /** Whether the tools of the last step may have begun under an owner that died. */
    hasBegun: recorded.hasBegun ?? false,
    /** In place of `begin`, where tools wait for the user. False if the user has too many approvals to answer already. */
    async pause(
      result: RecordedStep['result'],
      { calls, fingerprints }: AskedCalls,
      isGatedRepeatable: boolean,
    ): Promise<boolean> {
      run.signal.throwIfAborted();
      const asksFor = calls.map(({ toolCallId }) => toolCallId);
      // An older version without approvals ends the run instead of running its tools.
      const step = toStep(result, { isRepeatable: false, gated: asksFor, fingerprints, isGatedRepeatable });
      const asked = await parts.ask({ ...step, userDid: run.userDid, calls });
      if (asked === 'not-owned') throw await toStop();
      return asked === 'asked';
    },
    /** Why a call that the user was asked about must not run, in words for the model; `fingerprint` is that of its tool now. */
    refusalOf(toolCallId: string, fingerprint: string | undefined): string | undefined {
      const asked = approvals.filter((approval) => approval.toolCallId === toolCallId);
      if (asked.length === 0) return gated.has(toolCallId) ? toRefusal(undefined) : undefined;
      const refusal = toRefusal(asked.find(({ status }) => status !== 'approved') ?? asked[0]);
      return refusal ?? (fingerprints.get(toolCallId) === fingerprint ? undefined : toolReplaced);
    },
    /** Whether the user has approved the call itself, not only a delegation or an invocation for it. */
    isApproved: (id: string): boolean =>
      approvals.some(
        ({ toolCallId, status, capability, invocation }) =>
          toolCallId === id && status === 'approved' && !capability && !invocation,
      ),
    signedFor: (toolCallId: string): string | undefined => recorded.signed?.get(toolCallId),
    /** Throws where the run has another owner by now. */
    async end(outcomes: ToolOutcome[]): Promise<void> {
      const ended: StepOutcomes = { outcomes, usage: run.usageByModel() };
      const step = { ...owned, number, outcomes: JSON.stringify(ended) };
      const [isOwn] = await Promise.all([runs.endStep(step), parts.flush()]);
      if (!isOwn) throw new RunCancelled('new-owner');
      number += 1;
      parts.onEnd(outcomes);
    },
  };
}

export function canContinueAfter(stored: StoredStep[]): boolean {
  const open = stored.find(({ outcomes }) => outcomes === null);
  if (open === undefined) return true;
  const { isRepeatable, isGatedRepeatable = false } = JSON.parse(open.body) as StepBody;
  return isRepeatable || isGatedRepeatable;
}

export function usageOf(stored: StoredStep[]): UsageByModel {
  const last = stored.at(-1);
  if (!last) return {};
  const { usage } = JSON.parse(last.outcomes ?? last.body) as StepOutcomes | StepBody;
  return usage;
}

const toolReplaced = 'APPROVAL_REFUSED: another tool has this name since the user was asked. It was not run.';

function toRefusal(approval: Approval | undefined): string | undefined {
  if (approval?.status === 'approved') return undefined;
  if (approval?.invocation) {
    const missing = `AUTHORIZATION_REQUIRED: the user has not signed an invocation for ${approval.toolName}. It was not run.`;
    return withReason(missing, approval.reason);
  }
  if (approval?.capability) return toMissing(approval.capability, approval.reason);
  if (approval?.status === 'expired') return 'APPROVAL_EXPIRED: the user did not answer in time. It was not run.';
  return withReason('APPROVAL_REFUSED: the user did not approve this call. It was not run.', approval?.reason);
}

const withReason = (words: string, reason: string | undefined) => (reason ? `${words} Reason: ${reason}` : words);

export function toMissing({ can, with: resource }: Capability, reason?: string): string {
  const missing = `REAUTHORIZATION_REQUIRED: the user has not delegated ${can} on ${resource} to this agent. It was not run.`;
  return withReason(missing, reason);
}
