import { useQueries, useQueryClient } from '@tanstack/react-query';
import { type Snapshot, toSnapshot } from '../../src/metrics/load.ts';
import { parsePrometheus, type Sample } from '../../src/metrics/prometheus.ts';
import { callAsOperator, isRefused } from '../api/call-service.ts';
import { useOperatorToken } from '../api/operator-token.ts';
import { watched } from './watched.ts';

const everyMs = 2_000;
const kept = 91; // three minutes

export interface Load {
  history: Snapshot[];
  latest: Sample[];
}

/** Every service's /metrics, asked every two seconds while the view is open; the history is kept in the query's own data. */
export function useLoad() {
  const token = useOperatorToken();
  const client = useQueryClient();
  return useQueries({
    queries: watched.map(({ service }) => {
      const queryKey = ['metrics', service, token];
      return {
        queryKey,
        // Services lock an address out after some wrong tokens in a minute, so a refused one is not sent again.
        refetchInterval: ({ state }: { state: { error: Error | null } }) => (isRefused(state.error) ? false : everyMs),
        gcTime: 60_000,
        structuralSharing: false,
        queryFn: async (): Promise<Load> => {
          const latest = parsePrometheus(await (await callAsOperator(service, '/metrics')).text());
          const before = client.getQueryData<Load>(queryKey)?.history ?? [];
          return { latest, history: [...before, toSnapshot(latest, Date.now())].slice(-kept) };
        },
      };
    }),
  });
}
