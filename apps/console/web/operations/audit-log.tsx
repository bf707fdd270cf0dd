import type { AuditLine } from '@palaver/contract/internal';
import { useState } from 'react';
import { callAsOperator, loadAsOperator } from '../api/call-service.ts';
import { useOperatorQuery } from '../api/operator.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { download } from '../ui/download.ts';
import { Fault } from '../ui/fault.tsx';
import { InputField } from '../ui/fields.tsx';
import { ChoiceTabs, GuideLink } from '../ui/link.tsx';
import { Panel } from '../ui/panel.tsx';
import { Pager, Table } from '../ui/table.tsx';
import { Cell } from './open-cases.tsx';

const logs = { 'ussd-gateway': '/api/ussd/audit', agent: '/audit' } as const;
const services = Object.keys(logs) as (keyof typeof logs)[];
const columns = ['at', 'actor', 'action', 'subject', 'from', 'details'] as const;
const pageSize = 50;

/** Who did what, as the services recorded it, the newest first. */
export function AuditLog() {
  const [service, setService] = useState(services[0] ?? 'agent');
  const [actor, setActor] = useState('');
  const [subject, setSubject] = useState('');
  /** Where each page begins, the open one last. */
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
  async function save(): Promise<void> {
    const reply = await callAsOperator(service, `${logs[service]}?${filter}&format=csv`);
    download(`audit-${service}.csv`, await reply.text(), 'text/csv');
  }
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
        <Button icon="save" onClick={() => void save()}>
          {t('operations.exportCsv')}
        </Button>
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
