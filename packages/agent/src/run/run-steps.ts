import type { ModelResult } from '../plugins/plugin.ts';
import type { StoredStep } from '../store/interrupted-runs.ts';
import type { OwnedRun, RunStore } from '../store/runs.ts';
import type { Run } from './run.ts';
import { RunCancelled } from './stream-error.ts';

export interface ToolOutcome {
  output?: unknown;
  /** In words for the model. */
  error?: string;
  /** The caller runs the tool: the run ends here. */
  isHandedOff?: boolean;
}

export interface RecordedStep {
  result: Pick<ModelResult, 'text' | 'toolCalls' | 'content'>;
  /** Undefined where the owner died while the tools ran, which happens only to tools that may run again. */
  outcomes: ToolOutcome[] | undefined;
}

/** The steps of a run, recorded so that no tool runs twice when another instance takes the run up. */
export interface RunSteps {
  /** What an earlier owner recorded. */
  earlier: RecordedStep[];
  /** What an earlier owner streamed after its last step. */
  said: { text: string; reasoning: string };
  /** Before the tools of a step run. Throws where the run has another owner by now. */
  begin(result: ModelResult, isRepeatable: boolean): Promise<void>;
  /** Before the next step. Throws where the run has another owner by now. */
  end(outcomes: ToolOutcome[]): Promise<void>;
}

interface StepBody {
  result: RecordedStep['result'];
  isRepeatable: boolean;
}

export interface StepParts {
  run: Run;
  owned: OwnedRun;
  runs: Pick<RunStore, 'beginStep' | 'endStep'>;
  /** Frames that tell of the calls are stored with them. */
  flush(): Promise<void>;
  stored: StoredStep[];
}

export function createRunSteps({ run, owned, runs, flush, stored }: StepParts): RunSteps {
  let number = stored.length - (stored.at(-1)?.outcomes === null ? 1 : 0);
  const { content: sent, reasoning = '' } = run.draft('failed');
  return {
    earlier: stored.map(({ body, outcomes }) => ({
      result: (JSON.parse(body) as StepBody).result,
      outcomes: outcomes === null ? undefined : (JSON.parse(outcomes) as ToolOutcome[]),
    })),
    said: { text: sent.slice(stored.at(-1)?.said ?? 0), reasoning: stored.length === 0 ? reasoning : '' },
    async begin({ text, toolCalls, content }, isRepeatable) {
      const body: StepBody = { result: { text, toolCalls, ...(content && { content }) }, isRepeatable };
      const said = run.draft('failed').content.length;
      const isOwn = await runs.beginStep({ ...owned, number, said, body: JSON.stringify(body) });
      if (!isOwn) throw new RunCancelled('new-owner');
    },
    async end(outcomes) {
      const [isOwn] = await Promise.all([
        runs.endStep({ ...owned, number, outcomes: JSON.stringify(outcomes) }),
        flush(),
      ]);
      if (!isOwn) throw new RunCancelled('new-owner');
      number += 1;
    },
  };
}

/** Whether a run can continue after these steps: no tool with a side effect was under way. */
export function canContinueAfter(stored: StoredStep[]): boolean {
  const open = stored.find(({ outcomes }) => outcomes === null);
  return open === undefined || (JSON.parse(open.body) as StepBody).isRepeatable;
}
