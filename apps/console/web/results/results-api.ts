import { callAsOperator } from '../api/call-service.ts';

export type Source = 'records' | 'forms' | 'messages';
export type Status = 'stored' | 'queued' | 'sending' | 'sent' | 'failed';

export interface ListedSet {
  source: Source;
  name: string;
  count: number;
  statuses: Partial<Record<Status, number>>;
}

export interface Result {
  id: string;
  createdAt: string;
  values: Record<string, string>;
  delivery?: { status: Status; attempts: number; fault: string | null };
}

export interface ListedResult extends Result {
  caller: string;
  maskedNumber: string;
}

export interface ExportedResult extends Result {
  phoneNumber: string;
}

export interface ResultPage {
  results: ListedResult[];
  total: number;
  isPartial: boolean;
}

export type Question = { name: string; answered: number } & (
  | { kind: 'choices'; values: { value: string; count: number }[]; others: number }
  | { kind: 'numbers'; bins: { from: number; to: number; count: number }[]; median: number; mean: number }
  | { kind: 'dates'; days: DayCount[] }
  | { kind: 'texts'; distinct: number }
);

export interface DayCount {
  day: string;
  count: number;
}

export interface ResultSummary {
  count: number;
  days: DayCount[];
  questions: Question[];
  isPartial: boolean;
}

/** Empty fields filter nothing. */
export interface Filter {
  from: string;
  to: string;
  status: string;
  search: string;
  column: string;
  value: string;
}

export const noFilter: Filter = { from: '', to: '', status: '', search: '', column: '', value: '' };

export interface SetRef {
  program: string;
  source: Source;
  name: string;
}

function toPath({ program, source, name }: SetRef, rest: string, query: Record<string, string>): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  return `/api/ussd/programs/${program}/results/${source}/${encodeURIComponent(name)}${rest}?${new URLSearchParams(given)}`;
}

const load = async <Answer>(path: string) => (await callAsOperator('ussd-gateway', path)).json() as Promise<Answer>;

/** The routes of the USSD gateway for what programs have collected and sent. */
export const resultsApi = {
  sets: (program: string) => load<{ sets: ListedSet[] }>(`/api/ussd/programs/${program}/results`),
  page: (set: SetRef, filter: Filter, { limit, offset }: { limit: number; offset: number }) =>
    load<ResultPage>(toPath(set, '', { ...filter, limit: String(limit), offset: String(offset) })),
  summary: (set: SetRef, filter: Filter) => load<ResultSummary>(toPath(set, '/summary', { ...filter })),
  export: (set: SetRef, filter: Filter, format: 'csv' | 'json') =>
    callAsOperator('ussd-gateway', toPath(set, '/export', { ...filter, format })),
  /** Queues a failed submission or message again, or all of the set. */
  async retry({ program, source, name }: SetRef, id?: string): Promise<number> {
    const isForm = source === 'forms';
    const all = isForm ? { program, formId: name } : { program };
    const response = await callAsOperator('ussd-gateway', `/api/ussd/${isForm ? 'submissions' : 'sms'}/retry`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(id === undefined ? all : { [isForm ? 'instanceId' : 'id']: id }),
    });
    return ((await response.json()) as { queued: number }).queued;
  },
};
