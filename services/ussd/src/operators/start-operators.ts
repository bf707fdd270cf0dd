import type { Started } from '../calls/start-calls.ts';
import type { Adapter } from '../channel/adapter.ts';
import type { Push } from '../channel/push.ts';
import { createRows } from '../store/rows.ts';
import { type CallerParts, createCallers } from './callers.ts';
import { createResults } from './results.ts';

export interface OperatorParts extends Started, ReturnType<typeof startOperators> {
  adapters: readonly Adapter[];
  push: Push;
}

export function startOperators(parts: Omit<CallerParts, 'results'>) {
  const rows = createRows(parts.store);
  const results = createResults(rows);
  return { rows, results, callers: createCallers({ ...parts, results }) };
}
