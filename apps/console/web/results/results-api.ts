import type { ListedSet, ResultPage, ResultSource, ResultSummary, UssdResult } from '@palaver/contract/internal';
import { loadAsOperator, sendAsOperator } from '../api/call-service.ts';

export type {
  DayCount,
  DeliveryStatus as Status,
  ListedResult,
  ListedSet,
  QuestionSummary as Question,
} from '@palaver/contract/internal';

export type ExportedResult = UssdResult & { phoneNumber: string };

export const noFilter = { from: '', to: '', status: '', search: '', column: '', value: '' };
export type Filter = typeof noFilter;

export interface SetRef {
  program: string;
  source: ResultSource;
  name: string;
}

function toPath({ program, source, name }: SetRef, rest: string, query: Record<string, string>): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  return `/api/ussd/programs/${program}/results/${source}/${encodeURIComponent(name)}${rest}?${new URLSearchParams(given)}`;
}

const load = <Answer>(path: string) => loadAsOperator<Answer>('ussd-gateway', path);

export const resultsApi = {
  sets: (program: string) => load<{ sets: ListedSet[] }>(`/api/ussd/programs/${program}/results`),
  page: (set: SetRef, filter: Filter, { limit, offset }: { limit: number; offset: number }) =>
    load<ResultPage>(toPath(set, '', { ...filter, limit: String(limit), offset: String(offset) })),
  summary: (set: SetRef, filter: Filter) => load<ResultSummary>(toPath(set, '/summary', { ...filter })),
  export: (set: SetRef, filter: Filter) =>
    load<ExportedResult[]>(toPath(set, '/export', { ...filter, format: 'json' })),
  /** Without an id, all failed ones of the set are queued again. */
  async retry({ program, source, name }: SetRef, id?: string): Promise<number> {
    const isForm = source === 'forms';
    const all = isForm ? { program, formId: name } : { program };
    const path = `/api/ussd/${isForm ? 'submissions' : 'sms'}/retry`;
    const body = id === undefined ? all : { [isForm ? 'instanceId' : 'id']: id };
    return (await sendAsOperator<{ queued: number }>('ussd-gateway', path, body)).queued;
  },
};
