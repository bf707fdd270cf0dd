import type { Trace, TraceStep, TraceSummary } from '@palaver/contract/internal';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { loadAsOperator, useOperatorQuery } from '../api/call-service.ts';
import { formatMoment, formatMs, formatNumber, t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { Fault, GuideLink, JsonView, Link, Pager, Panel, Table, Waiting } from '../ui/content.tsx';
import { Button } from '../ui/controls.tsx';

const path = '/operations?page=traces';
const toRunPath = (runId: string) => `${path}&run=${encodeURIComponent(runId)}`;
const toTokens = ({ inputTokens: input = 0, outputTokens: output = 0 }: Partial<TraceSummary>) =>
  t('runs.tokenCounts', { input, output });

export function TracesPage() {
  const runId = useLocation().searchParams.get('run');
  return runId ? <Run key={runId} runId={runId} /> : <List />;
}

function List() {
  const [starts, setStarts] = useState(['']);
  const before = starts.at(-1);
  const { data, error } = useOperatorQuery({
    queryKey: ['traces', before],
    placeholderData: (shown) => shown,
    retry: false,
    queryFn: () =>
      loadAsOperator<{ traces: TraceSummary[]; nextCursor: string | null }>(
        'agent',
        `/traces${before && `?before=${before}`}`,
      ),
  });
  const next = data?.nextCursor;
  const heads = (
    ['operations.time', 'runs.status', 'traces.calls', 'runs.tokens', 'traces.cost', 'runs.id'] as const
  ).map((head) => t(head));
  return (
    <Panel title={t('operations.traces')} beside={<GuideLink name="console" />}>
      <p className="quiet">{t('traces.intro')}</p>
      {!data && <Waiting error={error} />}
      {data?.traces.length === 0 && <p className="empty">{t('traces.none')}</p>}
      {data && data.traces.length > 0 && (
        <Table label={t('operations.traces')} heads={heads}>
          {data.traces.map(({ id, runId, startedAt, durationMs, status, modelCalls, toolCalls, cost, ...used }) => (
            <tr key={id}>
              <td>
                {formatMoment(startedAt)} <span className="numbers quiet">{formatMs(durationMs)}</span>
              </td>
              <td>
                <span className={status === 'failed' ? 'badge badge-danger' : 'badge'}>{t(`traces.${status}`)}</span>
              </td>
              <td>{t('traces.callCounts', { models: modelCalls, tools: toolCalls })}</td>
              <td>{toTokens(used)}</td>
              <td className="numbers">{formatNumber(cost)}</td>
              <td>
                <Link href={toRunPath(runId)}>{runId}</Link>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Pager
        label={t('operations.traces')}
        onPrevious={starts.length > 1 ? () => setStarts(starts.slice(0, -1)) : undefined}
        onNext={next ? () => setStarts([...starts, next]) : undefined}
      />
    </Panel>
  );
}

const loadRun = async (runId: string, more = '') =>
  (await loadAsOperator<{ traces: Trace[] }>('agent', `/traces/${encodeURIComponent(runId)}${more}`)).traces;

function Run({ runId }: { runId: string }) {
  const { data, error } = useOperatorQuery({ queryKey: ['trace', runId], retry: false, queryFn: () => loadRun(runId) });
  // Not a query: what was said is read again only when an operator asks for it again.
  const contents = useMutation({ mutationFn: () => loadRun(runId, '/content') });
  const shown = contents.data ?? data;
  return (
    <Panel
      title={t('traces.title', { run: runId })}
      beside={<Button onClick={() => navigate(path)}>{t('operations.traces')}</Button>}
    >
      <p className="quiet">{t('traces.contentsIntro')}</p>
      <Button text={t('traces.contents')} disabled={contents.isPending} onClick={() => contents.mutate()} />
      {contents.error && <Fault error={contents.error} />}
      {!shown && <Waiting error={error} />}
      {shown?.map(({ id, startedAt, steps }) => (
        <Table key={id} label={formatMoment(startedAt)} heads={stepHeads()}>
          {steps.map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other name, and none is added or removed.
            <Step key={index} step={step} />
          ))}
        </Table>
      ))}
    </Panel>
  );
}

const stepHeads = () =>
  (['operations.time', 'traces.call', 'runs.tokens', 'log.details'] as const).map((head) => t(head));

function Step({ step }: { step: TraceStep }) {
  const { kind, name, startMs, durationMs, inputTokens, tools, error, input, output } = step;
  return (
    <tr>
      <td className="numbers">
        +{formatMs(startMs)} <span className="quiet">{formatMs(durationMs)}</span>
      </td>
      <td>
        {t(`runs.${kind}`)} <code>{name}</code> {error && <span className="badge badge-danger">{error}</span>}
      </td>
      <td>{inputTokens !== undefined && toTokens(step)}</td>
      <td>
        {tools && tools.length > 0 && <span className="quiet">{tools.join(', ')}</span>}
        {input !== undefined && <JsonView value={input} label={t('traces.input', { name })} />}
        {output !== undefined && <JsonView value={output} label={t('traces.output', { name })} />}
      </td>
    </tr>
  );
}
