import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { loadAsOperator, ServiceFault, type ServiceName, sendAsOperator } from '../api/call-service.ts';
import { useOperatorQuery } from '../api/operator.ts';
import { formatUtc } from '../i18n/format.ts';
import { type MessageKey, t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { GuideLink } from '../ui/link.tsx';
import { Ask } from '../ui/modal.tsx';
import { Panel } from '../ui/panel.tsx';
import { JsonView, Table } from '../ui/table.tsx';

type Case = Record<string, unknown>;

interface CaseAction {
  title: MessageKey;
  path(found: Case): string;
  body?(found: Case): object;
  /** Asked first, where the action cannot be undone. */
  asks?: MessageKey;
}

interface Decision {
  action: CaseAction;
  found: Case;
}

interface CaseList {
  title: MessageKey;
  help: MessageKey;
  service: ServiceName;
  path: string;
  field: string;
  columns: readonly string[];
  actions: readonly CaseAction[];
}

const retryAt = (path: string): CaseAction => ({
  title: 'cases.again',
  path: ({ id }) => `${path}/${encodeURIComponent(String(id))}/retry`,
});
const retryBy = (field: string, path: string): CaseAction => ({
  title: 'cases.again',
  path: () => path,
  body: (found) => ({ [field]: found[field] }),
});

const transactions = (title: MessageKey, service: ServiceName, path: string): CaseList => ({
  title,
  service,
  help: 'cases.transactionsHelp',
  field: 'transactions',
  path: `${path}?status=unclear&limit=100`,
  columns: ['hash', 'sequence', 'attempts', 'fault', 'createdAt'],
  actions: [
    { title: 'cases.lookUp', path: ({ hash }) => `${path}/${hash}/look-up` },
    { title: 'cases.included', path: ({ hash }) => `${path}/${hash}/mark-included`, asks: 'cases.includedAsk' },
    { title: 'cases.sendAgain', path: ({ hash }) => `${path}/${hash}/send-again`, asks: 'cases.sendAgainAsk' },
  ],
});

const lists: readonly CaseList[] = [
  transactions('cases.ussdTransactions', 'ussd-gateway', '/api/ussd/transactions'),
  transactions('cases.usageTransactions', 'agent', '/claims/transactions'),
  transactions('cases.actionTransactions', 'agent', '/actions/transactions'),
  {
    title: 'cases.claims',
    help: 'cases.claimsHelp',
    service: 'ussd-gateway',
    field: 'claims',
    path: '/api/ussd/claims?status=failed&limit=100',
    columns: ['id', 'source', 'collection', 'content', 'fault', 'createdAt'],
    actions: [retryAt('/api/ussd/claims')],
  },
  {
    title: 'cases.usageClaims',
    help: 'cases.claimsHelp',
    service: 'agent',
    field: 'claims',
    path: '/claims?status=failed&limit=100',
    columns: ['claimId', 'credits', 'content', 'fault', 'createdAt'],
    actions: [retryAt('/claims')],
  },
  {
    title: 'cases.submissions',
    help: 'cases.submissionsHelp',
    service: 'ussd-gateway',
    field: 'submissions',
    path: '/api/ussd/submissions?status=failed&limit=100',
    columns: ['instanceId', 'formId', 'phoneNumber', 'createdAt'],
    actions: [retryBy('instanceId', '/api/ussd/submissions/retry')],
  },
  {
    title: 'cases.messages',
    help: 'cases.messagesHelp',
    service: 'ussd-gateway',
    field: 'messages',
    path: '/api/ussd/sms?status=failed&limit=100',
    columns: ['id', 'program', 'phoneNumber', 'attempts', 'fault', 'createdAt'],
    actions: [retryBy('id', '/api/ussd/sms/retry')],
  },
  {
    title: 'cases.tasks',
    help: 'cases.tasksHelp',
    service: 'agent',
    path: '/tasks/failed',
    field: 'tasks',
    columns: ['id', 'user', 'schedule', 'failures', 'endedAt'],
    actions: [retryAt('/tasks')],
  },
  {
    title: 'cases.payments',
    help: 'cases.paymentsHelp',
    service: 'agent',
    field: 'payments',
    path: '/credits/payments?status=unmatched&limit=100',
    columns: ['hash', 'height', 'sender', 'memo', 'amount'],
    actions: [],
  },
];

export function OpenCases() {
  return (
    <>
      <p className="quiet">
        {t('cases.intro')} <GuideLink name="money" />
      </p>
      {lists.map((list) => (
        <Cases key={list.title} {...list} />
      ))}
    </>
  );
}

function Cases({ title, help, service, path, field, columns, actions }: CaseList) {
  const query = useOperatorQuery({
    queryKey: ['cases', service, path],
    refetchInterval: 60_000,
    queryFn: async () => (await loadAsOperator<Record<string, Case[]>>(service, path))[field] ?? [],
  });
  const [asked, setAsked] = useState<Decision>();
  const act = useMutation({
    mutationFn: ({ action, found }: Decision) =>
      sendAsOperator(service, action.path(found), action.body?.(found) ?? {}),
    onSettled() {
      setAsked(undefined);
      return query.refetch();
    },
  });
  const decide = (decision: Decision) => (decision.action.asks ? setAsked(decision) : act.mutate(decision));
  // The service has no such list where the feature that fills it is switched off.
  if (query.error instanceof ServiceFault && query.error.status === 404) return null;
  const all = query.data ?? [];
  return (
    <Panel
      title={t(title)}
      beside={<span className={all.length > 0 ? 'badge badge-warn numbers' : 'badge numbers'}>{all.length}</span>}
      empty={!query.error && all.length === 0 && t(query.data ? 'cases.none' : 'app.loading')}
    >
      {query.error && <Fault error={query.error} />}
      {act.error && <Fault error={act.error} />}
      <p className="quiet small">{t(help)}</p>
      <Table label={t(title)} heads={[...columns.map(toHead), ...(actions.length > 0 ? [t('cases.actions')] : [])]}>
        {all.map((found) => (
          <tr key={String(found.id ?? found.instanceId ?? found.hash)}>
            {columns.map((column) => (
              <td key={column}>
                <Cell value={found[column]} isTime={column.endsWith('At')} />
              </td>
            ))}
            {actions.length > 0 && (
              <td className="actions">
                {actions.map((action) => (
                  <Button key={action.title} small disabled={act.isPending} onClick={() => decide({ action, found })}>
                    {t(action.title)}
                  </Button>
                ))}
              </td>
            )}
          </tr>
        ))}
      </Table>
      {asked?.action.asks && (
        <Ask
          title={t(asked.action.title)}
          text={t(asked.action.asks)}
          disabled={act.isPending}
          onConfirm={() => act.mutate(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Panel>
  );
}

const heads: Record<string, MessageKey> = {
  phoneNumber: 'operations.phone',
  createdAt: 'operations.time',
  endedAt: 'operations.time',
  fault: 'cases.fault',
  attempts: 'cases.attempts',
  failures: 'cases.attempts',
  amount: 'operations.amount',
};

function toHead(column: string): string {
  const key = heads[column];
  return key ? t(key) : column;
}

export function Cell({ value, isTime }: { value: unknown; isTime: boolean }) {
  if (value === null || value === undefined || value === '') return '–';
  if (isTime) return <span className="numbers">{formatUtc(String(value))}</span>;
  if (typeof value === 'object') return <JsonView value={value} label={t('explorer.wholeAnswer')} />;
  return <bdi className="break">{String(value)}</bdi>;
}
