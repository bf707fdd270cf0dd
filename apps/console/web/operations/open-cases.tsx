import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Case, CaseListName, CaseReplies } from '../../src/cases.ts';
import { loadAsOperator, sendAsOperator, useOperatorQuery } from '../api/call-service.ts';
import { formatUtc, type MessageKey, t } from '../i18n/text.ts';
import { Fault, GuideLink, JsonView, Panel, Refusal, Table, Waiting } from '../ui/content.tsx';
import { Ask, Button } from '../ui/controls.tsx';

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

const transactions = (title: MessageKey, path: string): CaseList => ({
  title,
  help: 'cases.transactionsHelp',
  columns: ['hash', 'sequence', 'attempts', 'fault', 'createdAt'],
  actions: [
    { title: 'cases.lookUp', path: ({ hash }) => `${path}/${hash}/look-up` },
    { title: 'cases.included', path: ({ hash }) => `${path}/${hash}/mark-included`, asks: 'cases.includedAsk' },
    { title: 'cases.sendAgain', path: ({ hash }) => `${path}/${hash}/send-again`, asks: 'cases.sendAgainAsk' },
  ],
});

const lists: Record<CaseListName, CaseList> = {
  ussdTransactions: transactions('cases.ussdTransactions', '/api/ussd/transactions'),
  usageTransactions: transactions('cases.usageTransactions', '/claims/transactions'),
  actionTransactions: transactions('cases.actionTransactions', '/actions/transactions'),
  claims: {
    title: 'cases.claims',
    help: 'cases.claimsHelp',
    columns: ['id', 'source', 'collection', 'content', 'fault', 'createdAt'],
    actions: [retryAt('/api/ussd/claims')],
  },
  usageClaims: {
    title: 'cases.usageClaims',
    help: 'cases.claimsHelp',
    columns: ['claimId', 'credits', 'content', 'fault', 'createdAt'],
    actions: [retryAt('/claims')],
  },
  submissions: {
    title: 'cases.submissions',
    help: 'cases.submissionsHelp',
    columns: ['instanceId', 'formId', 'phoneNumber', 'createdAt'],
    actions: [retryBy('instanceId', '/api/ussd/submissions/retry')],
  },
  messages: {
    title: 'cases.messages',
    help: 'cases.messagesHelp',
    columns: ['id', 'program', 'phoneNumber', 'attempts', 'fault', 'createdAt'],
    actions: [retryBy('id', '/api/ussd/sms/retry')],
  },
  tasks: {
    title: 'cases.tasks',
    help: 'cases.tasksHelp',
    columns: ['id', 'user', 'schedule', 'failures', 'endedAt'],
    actions: [retryAt('/tasks')],
  },
  payments: {
    title: 'cases.payments',
    help: 'cases.paymentsHelp',
    columns: ['hash', 'height', 'sender', 'memo', 'amount'],
    actions: [],
  },
};

export function OpenCases() {
  const { data, error, refetch } = useOperatorQuery({
    queryKey: ['cases'],
    refetchInterval: 60_000,
    queryFn: () => loadAsOperator<CaseReplies>('console', '/cases'),
  });
  return (
    <>
      <p className="quiet">
        {t('cases.intro')} <GuideLink name="money" />
      </p>
      {data ? (
        Object.entries(data).map(([name, reply]) => (
          <Cases key={name} name={name as CaseListName} {...reply} onActed={refetch} />
        ))
      ) : (
        <Waiting error={error} />
      )}
    </>
  );
}

type CasesProps = NonNullable<CaseReplies[CaseListName]> & {
  name: CaseListName;
  onActed(): Promise<unknown>;
};

function Cases({ name, service, cases, refused, onActed }: CasesProps) {
  const { help, columns, actions, ...list } = lists[name];
  const title = t(list.title);
  const [asked, setAsked] = useState<Decision>();
  const act = useMutation({
    mutationFn: ({ action, found }: Decision) =>
      sendAsOperator(service, action.path(found), action.body?.(found) ?? {}),
    onSettled() {
      setAsked(undefined);
      return onActed();
    },
  });
  const decide = (decision: Decision) => (decision.action.asks ? setAsked(decision) : act.mutate(decision));
  return (
    <Panel
      title={title}
      beside={<span className={cases.length > 0 ? 'badge badge-warn numbers' : 'badge numbers'}>{cases.length}</span>}
      empty={refused === undefined && cases.length === 0 && t('cases.none')}
    >
      <Refusal text={refused ?? ''} />
      {act.error && <Fault error={act.error} />}
      <p className="quiet small">{t(help)}</p>
      <Table label={title} heads={[...columns.map(toHead), ...(actions.length > 0 ? [t('cases.actions')] : [])]}>
        {cases.map((found) => (
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
