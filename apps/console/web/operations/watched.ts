import type { ServiceName } from '../api/call-service.ts';
import type { MessageKey } from '../i18n/text.ts';

/** The services of the operations view, each with its colour in the charts. */
export const watched: { service: ServiceName; title: MessageKey; series: number }[] = [
  { service: 'ussd-gateway', title: 'service.ussd-gateway', series: 1 },
  { service: 'agent', title: 'service.agent', series: 2 },
  { service: 'gateway', title: 'service.gateway', series: 3 },
  { service: 'console', title: 'service.console', series: 4 },
];
