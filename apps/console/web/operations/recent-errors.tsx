import type { AuditLine, UssdReportList } from '@palaver/contract/internal';
import type { RecentError } from '@palaver/service-kit/internal';
import { useState } from 'react';
import { callAsOperator, loadAsOperator, type ServiceName, useOperatorQuery } from '../api/call-service.ts';
import { formatMoment, formatUtc, t } from '../i18n/text.ts';
import { ChoiceTabs, Fault, GuideLink, Pager, Panel, Table } from '../ui/content.tsx';
import { Button, download, InputField } from '../ui/controls.tsx';
import { type Figures, type Shown, watched } from './figures.ts';
import { RequestLines } from './log-page.tsx';
import { Cell } from './open-cases.tsx';

const shown = 20;

export function RecentErrors({ figures }: { figures: Figures }) {
  const all = watched
    .flatMap(({ service, title }) => {
      const errors = figures[`errors:${service}`];
      return Array.isArray(errors) ? (errors as RecentError[]).map((error) => ({ ...error, service, title })) : [];
    })
    .filter(({ service, path }) => service !== 'console' || !path.startsWith('/api/')) // the service behind it has its own line
    .sort((a, b) => b.time.localeCompare(a.time));
  const faults = all.filter(({ status }) => status >= 500).slice(0, shown / 2);
  // A flood of refusals leaves room for the faults.
  const refusals = all.filter(({ status }) => status < 500).slice(0, shown - faults.length);
  const rows = all.filter((error) => faults.includes(error) || refusals.includes(error));
  return (
    <Panel title={t('operations.errors')} beside={null} empty={rows.length === 0 && t('operations.noErrors')}>
      <Table
        label={t('operations.errors')}
        heads={(['time', 'service', 'status', 'request', 'requestId'] as const).map((head) => t(`operations.${head}`))}
      >
        {rows.map(({ time, service, title, status, code, message, method, path, requestId }) => (
          <tr key={`${title}${time}${requestId}`}>
            <td>{formatMoment(time)}</td>
            <td>{t(title)}</td>
            <td>
              <span className={status >= 500 ? 'badge badge-danger' : 'badge badge-warn'}>{status}</span>{' '}
              <span className="quiet">{code}</span>
            </td>
            <td>
              <code className="break">
                {method} {path}
              </code>
              {message && (
                <p className="quiet" lang="en" dir="auto">
                  {message}
                </p>
              )}
            </td>
            <td>
              <code>{requestId}</code>
              {status >= 500 && <RequestLines service={service} requestId={requestId} time={time} />}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

export function Reports({ list }: { list: Shown<UssdReportList> }) {
  const save = () => saveCsv('reports', 'ussd-gateway', '/api/ussd/reports?format=spreadsheet');
  const { reports = [], total = 0 } = list?.refused === undefined ? (list ?? {}) : {};
  return (
    <Panel
      title={t('operations.reports')}
      empty={list?.refused ?? (reports.length === 0 && t('operations.noReports'))}
      beside={
        <Button text={t('operations.exportCsv')} small icon="save" disabled={total === 0} onClick={() => void save()} />
      }
    >
      <Table
        label={t('operations.reportTable')}
        heads={[
          t('operations.reference'),
          t('operations.activity'),
          [t('operations.amount')],
          t('operations.phone'),
          t('operations.time'),
        ]}
      >
        {reports.map(({ reference, type, amount, unit, phoneNumber, createdAt }) => (
          <tr key={reference}>
            <td>
              <code>{reference}</code>
            </td>
            <td>{type}</td>
            <td className="number">
              {amount} {unit}
            </td>
            <td className="numbers">
              <bdi>{phoneNumber}</bdi>
            </td>
            <td>{formatUtc(createdAt)}</td>
          </tr>
        ))}
      </Table>
      {total > reports.length && (
        <p className="quiet small">{t('operations.newest', { shown: reports.length, total })}</p>
      )}
    </Panel>
  );
}

async function saveCsv(name: string, service: ServiceName, path: string): Promise<void> {
  download(`${name}.csv`, await (await callAsOperator(service, path)).text(), 'text/csv');
}

const logs = { 'ussd-gateway': '/api/ussd/audit', agent: '/audit' } as const;
const services = Object.keys(logs) as (keyof typeof logs)[];
const columns = ['at', 'actor', 'action', 'subject', 'from', 'details'] as const;
const pageSize = 50;

export function AuditLog() {
  const [service, setService] = useState(services[0] ?? 'agent');
  const [actor, setActor] = useState('');
  const [subject, setSubject] = useState('');
  const [starts, setStarts] = useState(['']);
  const filter = new URLSearchParams(Object.entries({ actor, subject }).filter(([, value]) => value !== ''));
  const before = starts.at(-1) ?? '';
  const path = `${logs[service]}?${filter}&limit=${pageSize}${before && `&before=${before}`}`;
  const { data, error } = useOperatorQuery({
    queryKey: ['audit', service, path],
    placeholderData: (shown) => shown,
    queryFn: () => loadAsOperator<{ lines: AuditLine[]; nextCursor: string | null }>(service, path),
  });
  const first = (change: () => void) => {
    change();
    setStarts(['']);
  };
  const save = () => saveCsv(`audit-${service}`, service, `${logs[service]}?${filter}&format=csv`);
  const next = data?.nextCursor;
  return (
    <Panel
      title={t('operations.audit')}
      beside={
        <ChoiceTabs
          label={t('operations.service')}
          chosen={service}
          choices={services.map((name) => [name, t(`service.${name}`)])}
          onChoose={(name) => first(() => setService(name))}
        />
      }
    >
      <div className="field-row">
        <InputField label={t('audit.actor')} value={actor} onChange={(value) => first(() => setActor(value))} />
        <InputField label={t('audit.subject')} value={subject} onChange={(value) => first(() => setSubject(value))} />
        <Button text={t('operations.exportCsv')} icon="save" onClick={() => void save()} />
        <GuideLink name="data" />
      </div>
      {error && <Fault error={error} />}
      {data?.lines.length === 0 && <p className="empty">{t('audit.none')}</p>}
      {data && data.lines.length > 0 && (
        <Table label={t('operations.audit')} heads={columns.map((column) => t(`audit.${column}`))}>
          {data.lines.map((line) => (
            <tr key={line.seq}>
              {columns.map((column) => (
                <td key={column}>
                  <Cell value={column === 'details' ? toPairs(line.details) : line[column]} isTime={column === 'at'} />
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
      <Pager
        label={t('operations.audit')}
        onPrevious={starts.length > 1 ? () => setStarts(starts.slice(0, -1)) : undefined}
        onNext={next ? () => setStarts([...starts, next]) : undefined}
      />
    </Panel>
  );
}

const toPairs = (details: AuditLine['details']) =>
  Object.entries(details)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
