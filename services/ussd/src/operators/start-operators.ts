import { createRows } from '../store/rows.ts';
import { type CallerParts, createCallers } from './callers.ts';
import { createResults } from './results.ts';

export function startOperators({ store, accounts, clock }: Omit<CallerParts, 'results'>) {
  const rows = createRows(store);
  const results = createResults(rows);
  return { rows, results, callers: createCallers({ store, accounts, results, clock }) };
}
