import { useMutation } from '@tanstack/react-query';
import { loadAsOperator, type ServiceName, useOperatorQuery } from '../api/call-service.ts';
import { formatMoment, t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { ChoiceTabs, Fault, GuideLink, JsonView, Panel, Table, Waiting } from '../ui/content.tsx';
import { Button } from '../ui/controls.tsx';
import { watched } from './figures.ts';

type Line = Record<string, unknown>;

const columns = ['time', 'status', 'message', 'details'] as const;

export const logPath = (service: string) => `/operations?page=log&service=${service}`;

const loadLines = async (service: ServiceName, query: Record<string, string>) =>
  (await loadAsOperator<{ lines: Line[] }>(service, `/metrics/log?${new URLSearchParams(query)}`)).lines.toReversed();

export function LogPage() {
  const wanted = useLocation().searchParams.get('service');
  const service = watched.find((each) => each.service === wanted)?.service ?? 'ussd-gateway';
  const { data, error } = useOperatorQuery({
    queryKey: ['log', service],
    refetchInterval: 15_000,
    queryFn: () => loadLines(service, {}),
  });
  return (
    <Panel
      title={t('operations.log')}
      beside={
        <ChoiceTabs
          label={t('operations.service')}
          chosen={service}
          choices={watched.map((each) => [each.service, t(each.title)])}
          onChoose={(name) => navigate(logPath(name))}
        />
      }
    >
      <p className="quiet">
        {t('operations.logIntro')} <GuideLink name="console" />
      </p>
      {data ? <Lines lines={data} /> : <Waiting error={error} />}
    </Panel>
  );
}

function Lines({ lines }: { lines: Line[] }) {
  if (lines.length === 0) return <p className="empty">{t('operations.logEmpty')}</p>;
  return (
    <Table label={t('operations.log')} heads={columns.map((column) => t(`log.${column}`))}>
      {lines.map((line) => {
        const { level, time, service: _, msg, ...details } = line;
        return (
          <tr key={JSON.stringify(line)}>
            <td>{formatMoment(String(time))}</td>
            <td>
              <span className={level === 'warn' ? 'badge badge-warn' : 'badge badge-danger'}>{String(level)}</span>
            </td>
            <td lang="en" dir="auto">
              {String(msg)}
            </td>
            <td>
              <JsonView value={details} label={t('log.details')} />
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

/** Where nothing was logged for the request itself, what was logged before it may name the cause. */
export function RequestLines({ service, requestId, time }: { service: ServiceName; requestId: string; time: string }) {
  const ask = useMutation({
    mutationFn: async () => {
      const own = await loadLines(service, { requestId, time });
      return own.length > 0 ? { own, before: [] } : { own, before: (await loadLines(service, { time })).slice(0, 5) };
    },
  });
  return (
    <>
      <Button text={t('operations.logLines')} small disabled={ask.isPending} onClick={() => ask.mutate()} />
      {ask.error && <Fault error={ask.error} />}
      {ask.data?.own.length === 0 && <p className="quiet">{t('operations.noLogLines')}</p>}
      {ask.data && <Lines lines={[...ask.data.own, ...ask.data.before]} />}
    </>
  );
}
