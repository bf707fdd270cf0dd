import { formatMs, formatTime, t } from '../i18n/text.ts';
import { Facts, JsonView } from '../ui/content.tsx';
import { Button, Modal } from '../ui/controls.tsx';
import type { RunLog, RunStep } from './run-log.ts';

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
