import { addGauge, Durations } from '@palaver/service-kit/internal';
import { Counter, Gauge, type Registry } from 'prom-client';

/** Read at every scrape, so none may cost more with more sessions. */
export interface UssdGauges {
  activeSessions(): number;
  sweepLagSeconds(): number;
  waitingSms(): number;
  boundLinks(): number;
  waitingSubmissions(): { queued: number; failed: number };
}

export function createUssdMetrics(registry: Registry, gauges: UssdGauges) {
  const registers = [registry];
  const count = (name: string, help: string, label: string) => {
    const counter = new Counter({ name, help, labelNames: [label], registers });
    return (value: string) => counter.inc({ [label]: value });
  };
  const show = (name: string, help: string, read: () => number) => addGauge(registry, name, help, read);
  // Counted without the library, which checks and hashes the labels each time.
  const requests = new Map<string, number>();
  new Counter({
    name: 'ussd_requests_total',
    help: 'Requests of telecom gateways by outcome',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset();
      for (const [outcome, count] of requests) this.inc({ outcome }, count);
    },
  });
  const durations = new Durations({
    name: 'ussd_request_duration_seconds',
    help: 'Time from a valid request to its saved reply',
    registry,
  });
  const counters = {
    countActionFailure: count('ussd_action_failures_total', 'Actions that failed, by name', 'action'),
    countSimSwapCheck: count(
      'ussd_sim_swap_checks_total',
      'Answers of the SIM swap check: clear, swapped, failed',
      'result',
    ),
    countSms: count('ussd_sms_total', 'Attempts to send SMS messages by result: sent, retried, failed', 'result'),
    countReceipt: count(
      'ussd_sms_receipts_total',
      'Delivery receipts of SMSCs by the state of the message: DELIVRD, UNDELIV and others',
      'state',
    ),
    countScreen: count(
      'ussd_smpp_screens_total',
      'Screens for SMSCs by outcome: sent, refused, late (no link took it while the session was open), left (the caller was gone)',
      'outcome',
    ),
    countText: count('ussd_texts_total', 'Text messages of people by outcome', 'outcome'),
    /** `ahead`: nobody waited for it; `call`: a caller did. */
    countFormLoad: count(
      'ussd_form_loads_total',
      'Forms that a thread has loaded: ahead of callers, or while one waited',
      'by',
    ),
  };
  show('ussd_sms_waiting', 'SMS messages that wait to be sent, 10,000 at most', gauges.waitingSms);
  show('ussd_smpp_links', 'SMSCs of SMPP_LINKS that this instance is bound to', gauges.boundLinks);
  show('ussd_active_sessions', 'Sessions that are open and kept in the memory of this instance', gauges.activeSessions);
  show('ussd_sweep_lag_seconds', 'Time since a sweep last left nothing behind', gauges.sweepLagSeconds);
  new Gauge({
    name: 'ussd_submissions_waiting',
    help: 'Submissions of forms that are queued for the forms server, and those that it has refused',
    labelNames: ['status'],
    registers,
    collect() {
      for (const [status, count] of Object.entries(gauges.waitingSubmissions())) this.set({ status }, count);
    },
  });
  return {
    ...counters,
    countRequest: (outcome: string) => requests.set(outcome, (requests.get(outcome) ?? 0) + 1),
    observeRequest: (seconds: number) => durations.count(seconds),
  };
}

export type UssdMetrics = ReturnType<typeof createUssdMetrics>;
