import { createRows } from '../store/rows.ts';
import { type CallerParts, createCallers } from './callers.ts';
import { createResults } from './results.ts';

/** What operators see of callers and of what programs have gathered. */
export function startOperators({ store, accounts, clock }: Omit<CallerParts, 'results'>) {
  const rows = createRows(store);
  const results = createResults(rows);
  return { rows, results, callers: createCallers({ store, accounts, results, clock }) };
}
