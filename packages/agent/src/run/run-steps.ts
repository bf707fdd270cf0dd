import type { Approval } from '@palaver/contract';
import type { Capability } from '@palaver/ucan';
import type { ModelResult } from '../plugins/middleware.ts';
import type { GatedCall, GatedStep } from '../store/approvals.ts';
import type { StoredStep } from '../store/interrupted-runs.ts';
import type { OwnedRun } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import type { Run } from './run.ts';
import { findStop } from './session-queue.ts';
import { RunCancelled } from './stream-error.ts';
import type { UsageByModel } from './turn.ts';

export interface ToolOutcome {
  output?: unknown;
  /** In words for the model. */
  error?: string;
  /** The caller runs the tool: the run ends here. */
  isHandedOff?: boolean;
}

export interface RecordedStep {
  result: Pick<ModelResult, 'text' | 'toolCalls' | 'content'>;
  /** Undefined if the owner died while the tools ran, which happens only to tools that may run again. */
  outcomes: ToolOutcome[] | undefined;
}

/** The steps of a run, recorded so that no tool runs twice when another instance takes over. */
export interface RunSteps {
  /** What an earlier owner recorded. */
  earlier: RecordedStep[];
  /** What an earlier owner streamed after its last step. */
  said: { text: string; reasoning: string };
  /** Before the tools of a step run. Throws where the run has another owner by now, or its abort is confirmed. */
  begin(result: ModelResult, isRepeatable: boolean): Promise<void>;
  /** In place of `begin`, for the steps of a sub-agent, which are not recorded. */
  check(): Promise<void>;
  /**
   * In place of `begin`, where tools wait for the user: nothing of the step runs before the run is resumed. False if the
   * user has too many approvals to answer already.
   */
  pause(result: RecordedStep['result'], asked: AskedCalls, isRepeatable: boolean): Promise<boolean>;
  /** Whether the tools of the last step may have begun under an owner that died. */
  hasBegun: boolean;
  /** Why a call that the user was asked about must not run, in words for the model; `fingerprint` is that of its tool now. */
  refusalOf(toolCallId: string, fingerprint: string | undefined): string | undefined;
  /** Whether the user has approved the call itself, not only a delegation or an invocation for it. */
  isApproved(toolCallId: string): boolean;
  /** The invocation that the user signed for a call. */
  signedFor(toolCallId: string): string | undefined;
  /** Before the next step. Throws where the run has another owner by now. */
  end(outcomes: ToolOutcome[]): Promise<void>;
}

/** The calls of a step that the user is asked about. */
export interface AskedCalls {
  calls: GatedCall[];
  /** Of the tools of all calls of the step, by call: an approval is for that tool alone. */
  fingerprints: Record<string, string | undefined>;
}

interface StepBody {
  result: RecordedStep['result'];
  /** Of the run until its tools began. */
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

/** What is stored of a run: its steps and the approvals that were asked. */
export interface RecordedRun {
  steps: StoredStep[];
  approvals: Approval[];
  /** The invocations that the user signed, by call. */
  signed?: ReadonlyMap<string, string>;
  /** Its owner died while it ran. */
  hasBegun?: boolean;
}

export interface StepParts {
  run: Run;
  owned: OwnedRun;
  runs: Pick<RunStore, 'beginStep' | 'endStep' | 'state'>;
  /** Asks the user about the gated calls of a step. */
  ask(step: GatedStep): Promise<'asked' | 'too-many' | 'not-owned'>;
  recorded: RecordedRun;
  /** Frames that report the calls are stored with them. */
  flush(): Promise<unknown>;
}

export function createRunSteps({ run, owned, runs, flush, ask, recorded }: StepParts): RunSteps {
  const { steps: stored, approvals } = recorded;
  const bodies = stored.map(({ body }) => JSON.parse(body) as StepBody);
  const gated = new Set(bodies.flatMap((body) => body.gated ?? []));
  const fingerprints = new Map(bodies.flatMap((body) => Object.entries(body.fingerprints ?? {})));
  const toResult = ({ text, toolCalls, content }: RecordedStep['result']) => ({
    text,
    toolCalls,
    ...(content && { content }),
  });
  const toStop = async () => (await findStop(owned, runs)) ?? new RunCancelled('new-owner');
  let number = stored.length - (stored.at(-1)?.outcomes === null ? 1 : 0);
  const { content: sent, reasoning = '' } = run.draft('failed');
  return {
    earlier: stored.map(({ outcomes }, index) => ({
      result: (bodies[index] as StepBody).result,
      outcomes: outcomes === null ? undefined : (JSON.parse(outcomes) as StepOutcomes).outcomes,
    })),
    said: { text: sent.slice(stored.at(-1)?.said ?? 0), reasoning: stored.length === 0 ? reasoning : '' },
    async begin(result, isRepeatable) {
      const body: StepBody = { result: toResult(result), usage: run.usageByModel(), isRepeatable };
      const said = run.draft('failed').content.length;
      const isOwn = await runs.beginStep({ ...owned, number, said, body: JSON.stringify(body) });
      if (!isOwn) throw await toStop();
    },
    async check() {
      const stop = await findStop(owned, runs);
      if (stop) throw stop;
    },
    hasBegun: recorded.hasBegun ?? false,
    async pause(result, { calls, fingerprints }, isGatedRepeatable) {
      const body: StepBody = {
        result: toResult(result),
        usage: run.usageByModel(),
        // An older version without approvals ends the run instead of running its tools.
        isRepeatable: false,
        gated: calls.map(({ toolCallId }) => toolCallId),
        fingerprints,
        isGatedRepeatable,
      };
      const said = run.draft('failed').content.length;
      const step = { ...owned, number, said, body: JSON.stringify(body) };
      const asked = await ask({ ...step, userDid: run.userDid, calls });
      if (asked === 'not-owned') throw await toStop();
      return asked === 'asked';
    },
    refusalOf(toolCallId, fingerprint) {
      const asked = approvals.filter((approval) => approval.toolCallId === toolCallId);
      if (asked.length === 0) return gated.has(toolCallId) ? toRefusal(undefined) : undefined;
      const refusal = toRefusal(asked.find(({ status }) => status !== 'approved') ?? asked[0]);
      return refusal ?? (fingerprints.get(toolCallId) === fingerprint ? undefined : toolReplaced);
    },
    isApproved: (toolCallId) =>
      approvals.some(
        (approval) =>
          approval.toolCallId === toolCallId &&
          approval.status === 'approved' &&
          !approval.capability &&
          !approval.invocation,
      ),
    signedFor: (toolCallId) => recorded.signed?.get(toolCallId),
    async end(outcomes) {
      const ended: StepOutcomes = { outcomes, usage: run.usageByModel() };
      const [isOwn] = await Promise.all([runs.endStep({ ...owned, number, outcomes: JSON.stringify(ended) }), flush()]);
      if (!isOwn) throw new RunCancelled('new-owner');
      number += 1;
    },
  };
}

/** Whether a run can continue after these steps: no tool with a side effect was under way. */
export function canContinueAfter(stored: StoredStep[]): boolean {
  const open = stored.find(({ outcomes }) => outcomes === null);
  if (open === undefined) return true;
  const { isRepeatable, isGatedRepeatable = false } = JSON.parse(open.body) as StepBody;
  return isRepeatable || isGatedRepeatable;
}

/** What models had used when the last of these steps was stored. */
export function usageOf(stored: StoredStep[]): UsageByModel {
  const last = stored.at(-1);
  if (!last) return {};
  const { usage } = JSON.parse(last.outcomes ?? last.body) as StepOutcomes | StepBody;
  return usage;
}

const toolReplaced = 'APPROVAL_REFUSED: another tool has this name since the user was asked. It was not run.';

function toRefusal(approval: Approval | undefined): string | undefined {
  if (approval?.status === 'approved') return undefined;
  if (approval?.invocation) return toUnsigned(approval);
  if (approval?.capability) return toMissing(approval.capability, approval.reason);
  if (approval?.status === 'expired') return 'APPROVAL_EXPIRED: the user did not answer in time. It was not run.';
  return `APPROVAL_REFUSED: the user did not approve this call. It was not run.${approval?.reason ? ` Reason: ${approval.reason}` : ''}`;
}

function toUnsigned({ toolName, reason }: Approval): string {
  const missing = `AUTHORIZATION_REQUIRED: the user has not signed an invocation for ${toolName}. It was not run.`;
  return reason ? `${missing} Reason: ${reason}` : missing;
}

/** In words for the model. */
export function toMissing({ can, with: resource }: Capability, reason?: string): string {
  const missing = `REAUTHORIZATION_REQUIRED: the user has not delegated ${can} on ${resource} to this agent. It was not run.`;
  return reason ? `${missing} Reason: ${reason}` : missing;
}
