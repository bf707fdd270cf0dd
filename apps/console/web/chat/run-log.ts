import type { AnyEvent } from '@palaver/oracles-client-sdk';

export interface RunStep {
  id: string;
  kind: 'reasoning' | 'text' | 'tool' | 'approval' | 'component' | 'error';
  name: string;
  args?: unknown;
  status?: string;
  /** Milliseconds since the run started. */
  startMs: number;
  endMs: number;
}

export interface RunLog {
  runId: string;
  prompt: string;
  /** Milliseconds, by the clock of this page. */
  startedAt: number;
  firstWordMs?: number;
  totalMs?: number;
  status?: string;
  usage?: { inputTokens: number; outputTokens: number };
  steps: RunStep[];
}

const maxRuns = 20;
const maxSteps = 200;

/** The newest run is first; events that belong to none change nothing. */
export function addRunEvent(
  runs: RunLog[],
  event: AnyEvent,
  { now, prompt }: { now: number; prompt: string },
): RunLog[] {
  if (event.eventName === 'run') {
    const { runId } = event.payload;
    if (runs.some((run) => run.runId === runId)) return runs;
    return [{ runId, prompt, startedAt: now, steps: [] }, ...runs].slice(0, maxRuns);
  }
  const [run, ...others] = runs;
  if (!run || run.totalMs !== undefined) return runs;
  const at = now - run.startedAt;
  if (event.eventName === 'done') {
    const { status, usage } = event.payload;
    return [{ ...run, status, totalMs: at, ...(usage && { usage }) }, ...others];
  }
  const step = toStep(event);
  if (!step) return runs;
  const isFirstWord = event.eventName === 'message' && run.firstWordMs === undefined;
  return [{ ...run, ...(isFirstWord && { firstWordMs: at }), steps: addStep(run.steps, step, at) }, ...others];
}

type Step = Omit<RunStep, 'startMs' | 'endMs'>;

function toStep(event: AnyEvent): Step | undefined {
  switch (event.eventName) {
    case 'message':
      return { id: `text ${event.payload.part ?? 0}`, kind: 'text', name: '' };
    case 'reasoning':
      return { id: `reasoning ${event.payload.part ?? 0}`, kind: 'reasoning', name: '' };
    case 'tool_call': {
      const { eventId, toolName, args, status } = event.payload;
      return { id: eventId, kind: 'tool', name: toolName, args, status };
    }
    case 'browser_tool_call':
    case 'action_call': {
      const { toolCallId, toolName, args } = event.payload;
      return { id: toolCallId, kind: 'tool', name: toolName, args, ...('status' in event.payload && event.payload) };
    }
    case 'approval_request': {
      const { approvalId, toolName, status } = event.payload;
      return { id: approvalId, kind: 'approval', name: toolName, status };
    }
    case 'render_component': {
      const { eventId, componentName, args } = event.payload;
      return { id: eventId, kind: 'component', name: componentName, args };
    }
    case 'error': {
      const name = 'error' in event.payload ? event.payload.error : event.payload.message;
      return { id: 'error', kind: 'error', name };
    }
    default:
      return undefined;
  }
}

function addStep(steps: RunStep[], step: Step, at: number): RunStep[] {
  const known = steps.findIndex(({ id }) => id === step.id);
  if (known < 0) return [...steps, { ...step, startMs: at, endMs: at }].slice(0, maxSteps);
  return steps.map((other, index) => (index === known ? { ...other, ...step, endMs: at } : other));
}
