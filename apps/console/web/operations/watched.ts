import type { ServiceName } from '../api/call-service.ts';

/** The services of the operations view, each with its colour in the charts. */
export const watched: { service: ServiceName; title: string; series: number }[] = [
  { service: 'ussd-gateway', title: 'USSD gateway', series: 1 },
  { service: 'agent', title: 'Agent service', series: 2 },
  { service: 'gateway', title: 'Query gateway', series: 3 },
  { service: 'console', title: 'Console', series: 4 },
];
