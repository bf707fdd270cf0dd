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
  /** A sub-agent one of whose tools waits for the user. */
  isWaiting?: boolean;
}

export interface RecordedStep {
  result: Pick<ModelResult, 'text' | 'toolCalls' | 'content'>;
  /** Undefined if the owner died while the tools ran, which happens only to tools that may run again. */
  outcomes: ToolOutcome[] | undefined;
  /** Where sub-agents of the step wait for the user: the outcomes of its other calls. */
  done?: (ToolOutcome | null)[];
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
  done?: (ToolOutcome | null)[];
  /** The steps of the sub-agents that wait, by their calls. */
  nested?: Record<string, RecordedStep[]>;
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

export type LoopSteps = Omit<RunSteps, 'check' | 'nested' | 'said'>;

/** The steps of a run, recorded so that no tool runs twice when another instance takes over. */
export function createRunSteps({ run, owned, runs, recorded, ...parts }: StepParts) {
  const { steps: stored, approvals } = recorded;
  const bodies = stored.map(({ body }) => JSON.parse(body) as StepBody);
  const gated = new Set(bodies.flatMap((body) => body.gated ?? []));
  const fingerprints = new Map(bodies.flatMap((body) => Object.entries(body.fingerprints ?? {})));
  const last = stored.at(-1);
  const { content: sent, reasoning = '' } = run.draft('failed');
  const nested = new Map(bodies.flatMap((body) => Object.entries(body.nested ?? {})));
  const asking = new Map<string, ReturnType<typeof createNestedSteps>>();
  let mayAsk = true;
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
  const pause = async (result: RecordedStep['result'], { calls, fingerprints }: AskedCalls, how: Partial<StepBody>) => {
    run.signal.throwIfAborted();
    const asksFor = [...gated, ...calls.map(({ toolCallId }) => toolCallId), ...(how.gated ?? [])];
    // An older version without approvals ends the run instead of running its tools.
    const step = toStep(result, { ...how, isRepeatable: false, gated: asksFor, fingerprints });
    const asked = await parts.ask({ ...step, userDid: run.userDid, calls });
    if (asked === 'not-owned') throw await toStop();
    return asked === 'asked';
  };

  const steps = {
    earlier: stored.map(({ outcomes }, index): RecordedStep => {
      const { result, done } = bodies[index] as StepBody;
      const ended = outcomes === null ? undefined : (JSON.parse(outcomes) as StepOutcomes).outcomes;
      return { result, outcomes: ended, ...(done && { done }) };
    }),
    /** What an earlier owner streamed after its last step. */
    said: { text: sent.slice(last?.said ?? 0), reasoning: last ? '' : reasoning },
    /** Before the tools of a step run. Throws where the run has another owner by now, or its abort is confirmed. */
    async begin(result: ModelResult, isRepeatable: boolean): Promise<void> {
      parts.onBegin(isRepeatable);
      run.signal.throwIfAborted();
      if (!(await runs.beginStep(toStep(result, { isRepeatable })))) throw await toStop();
    },
    /** In place of `begin`, for the steps of a sub-agent. Throws where the run must not begin them any more. */
    async check(): Promise<void> {
      const stop = await findStop(owned, runs);
      if (stop) throw stop;
    },
    /** Whether the tools of the last step may have begun under an owner that died. */
    hasBegun: recorded.hasBegun ?? false,
    /** In place of `begin`, where tools wait for the user. False if the user has too many approvals to answer already. */
    pause: (result: RecordedStep['result'], asked: AskedCalls, isGatedRepeatable: boolean): Promise<boolean> =>
      pause(result, asked, { isGatedRepeatable }),
    nested(toolCallId: string) {
      const created = createNestedSteps(nested.get(toolCallId) ?? [], steps, () => mayAsk);
      asking.set(toolCallId, created);
      return created;
    },
    /** Whether the call is a sub-agent that has waited: its client knows that it runs. */
    hasNested: (toolCallId: string): boolean => nested.has(toolCallId),
    isWaiting: (toolCallId: string): boolean => asking.get(toolCallId)?.asked() !== undefined,
    /** After the calls of a step, where sub-agents wait for the user; false as for `pause`. */
    async pauseNested(result: RecordedStep['result'], outcomes: ToolOutcome[]): Promise<boolean> {
      const waiting = [...asking].filter(([id]) => steps.isWaiting(id));
      const all = waiting.map(([, { asked }]) => asked() as AskedCalls);
      const calls = all.flatMap((asked) => asked.calls);
      const isAsked = await pause(
        result,
        { calls, fingerprints: Object.assign({}, ...all.map((asked) => asked.fingerprints)) },
        {
          // An older version refuses the calls of the step instead of making them twice.
          gated: result.toolCalls.map(({ id }) => id),
          done: outcomes.map((outcome) => (outcome.isWaiting ? null : outcome)),
          nested: Object.fromEntries(waiting.map(([id, { recorded }]) => [id, recorded])),
        },
      );
      for (const [id, { recorded }] of waiting) nested.set(id, recorded);
      mayAsk = isAsked;
      return isAsked;
    },
    /** Why a call that the user was asked about must not run, in words for the model; `fingerprint` is that of its tool now. */
    refusalOf(toolCallId: string, fingerprint: string | undefined): string | undefined {
      const asked = approvals.filter((approval) => approval.toolCallId === toolCallId);
      if (asked.length === 0)
        return gated.has(toolCallId) && !nested.has(toolCallId) ? toRefusal(undefined) : undefined;
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
      asking.clear();
      mayAsk = true;
      parts.onEnd(outcomes);
    },
  };
  return steps;
}

/** Steps of a sub-agent are part of the call that it is. They are stored only while one of its tools waits for the user. */
function createNestedSteps(
  earlier: RecordedStep[],
  { check, refusalOf, isApproved, signedFor }: Pick<RunSteps, 'check' | 'refusalOf' | 'isApproved' | 'signedFor'>,
  mayAsk: () => boolean,
) {
  const recorded = [...earlier];
  let asked: AskedCalls | undefined;
  const open = (result: RecordedStep['result']) => {
    const last = recorded.at(-1);
    if (!last || last.outcomes) recorded.push({ result, outcomes: undefined });
  };
  return {
    earlier,
    recorded,
    hasBegun: false,
    refusalOf,
    isApproved,
    signedFor,
    hasNested: () => false,
    isWaiting: () => false,
    pauseNested: async () => false,
    asked: () => asked,
    async begin(result: RecordedStep['result']): Promise<void> {
      await check();
      open(result);
    },
    async pause(result: RecordedStep['result'], calls: AskedCalls): Promise<boolean> {
      if (!mayAsk()) return false;
      open(result);
      asked = calls;
      return true;
    },
    async end(outcomes: ToolOutcome[]): Promise<void> {
      const last = recorded.pop();
      if (last) recorded.push({ ...last, outcomes });
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
