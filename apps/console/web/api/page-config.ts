import { useQuery } from '@tanstack/react-query';
import { callService } from './call-service.ts';

export interface PageConfig {
  services: Record<'ussd-gateway' | 'agent' | 'gateway', { path: string; address: string }>;
}

/** Where the services are, as the console's server knows them. */
export function usePageConfig() {
  return useQuery({
    queryKey: ['page-config'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await callService('console', '/config.json')).json() as Promise<PageConfig>,
  });
}
