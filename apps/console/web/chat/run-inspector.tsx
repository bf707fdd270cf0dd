import type { AnyEvent } from '@palaver/oracles-client-sdk';
import { formatMs, formatTime } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Modal } from '../ui/modal.tsx';
import { Facts } from '../ui/panel.tsx';
import { JsonView } from '../ui/table.tsx';

export function RunInspector({ runs, onClose }: { runs: RunLog[]; onClose(): void }) {
  return (
    <Modal title={t('runs.title')} onClose={onClose}>
      {runs.length === 0 && <p className="empty">{t('runs.none')}</p>}
      <ol className="runs">
        {runs.map((run, index) => (
          <li key={run.runId}>
            <details className="fold" open={index === 0}>
              <summary>
                {formatTime(run.startedAt)} <bdi>{run.prompt.slice(0, 80)}</bdi>
              </summary>
              <Run run={run} />
            </details>
          </li>
        ))}
      </ol>
      <div className="actions">
        <Button onClick={onClose}>{t('app.close')}</Button>
      </div>
    </Modal>
  );
}

function Run({ run }: { run: RunLog }) {
  const ms = (value: number | undefined) => (value === undefined ? '–' : formatMs(value));
  const facts: [string, string][] = [
    [t('runs.prompt'), run.prompt],
    [t('runs.status'), run.status ?? t('runs.running')],
    [t('runs.firstWord'), ms(run.firstWordMs)],
    [t('runs.total'), ms(run.totalMs)],
    [
      t('runs.tokens'),
      run.usage
        ? t('runs.tokenCounts', { input: run.usage.inputTokens, output: run.usage.outputTokens })
        : t('runs.noTokens'),
    ],
    [t('runs.id'), run.runId],
  ];
  return (
    <>
      <Facts rows={facts} dir="auto" />
      <h3>{t('runs.steps')}</h3>
      <ol className="run-steps">
        {run.steps.map((step) => (
          <StepItem key={step.id} step={step} />
        ))}
      </ol>
    </>
  );
}

function StepItem({ step }: { step: RunStep }) {
  const { kind, name, status, startMs, endMs, args } = step;
  return (
    <li>
      <p>
        <span className="numbers quiet">+{formatMs(startMs)}</span> {t(`runs.${kind}`)} {name && <code>{name}</code>}{' '}
        {status && <span className="badge">{status}</span>}{' '}
        <span className="numbers quiet">{formatMs(endMs - startMs)}</span>
      </p>
      {args !== undefined && <JsonView value={args} label={t('chat.argumentsOf', { name })} />}
    </li>
  );
}

interface RunStep {
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

interface Moment {
  now: number;
  prompt: string;
}

/** The newest run is first; events that belong to none change nothing. */
export function addRunEvent(runs: RunLog[], event: AnyEvent, { now, prompt }: Moment): RunLog[] {
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
