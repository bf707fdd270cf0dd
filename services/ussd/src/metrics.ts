import { Durations } from '@palaver/service-kit/internal';
import { Counter, Gauge, type Registry } from 'prom-client';

/** What is read when the metrics are asked for; nothing of it may cost more with more sessions. */
export interface UssdGauges {
  activeSessions(): number;
  sweepLagSeconds(): number;
  waitingSms(): number;
  boundLinks(): number;
  waitingSubmissions(): { queued: number; failed: number };
}

export function createUssdMetrics(registry: Registry, gauges: UssdGauges) {
  const registers = [registry];
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
  const failures = new Counter({
    name: 'ussd_action_failures_total',
    help: 'Actions that failed, by name',
    labelNames: ['action'],
    registers,
  });
  const simSwapChecks = new Counter({
    name: 'ussd_sim_swap_checks_total',
    help: 'Answers of the SIM swap check: clear, swapped, failed',
    labelNames: ['result'],
    registers,
  });
  const sms = new Counter({
    name: 'ussd_sms_total',
    help: 'Attempts to send SMS messages by result: sent, retried, failed',
    labelNames: ['result'],
    registers,
  });
  const receipts = new Counter({
    name: 'ussd_sms_receipts_total',
    help: 'Delivery receipts of SMSCs by the state of the message: DELIVRD, UNDELIV and others',
    labelNames: ['state'],
    registers,
  });
  const formLoads = new Counter({
    name: 'ussd_form_loads_total',
    help: 'Forms that a thread has loaded: ahead of callers, or while one waited',
    labelNames: ['by'],
    registers,
  });
  new Gauge({
    name: 'ussd_sms_waiting',
    help: 'SMS messages that wait to be sent, 10,000 at most',
    registers,
    collect() {
      this.set(gauges.waitingSms());
    },
  });
  new Gauge({
    name: 'ussd_smpp_links',
    help: 'SMSCs of SMPP_LINKS that this instance is bound to',
    registers,
    collect() {
      this.set(gauges.boundLinks());
    },
  });
  new Gauge({
    name: 'ussd_active_sessions',
    help: 'Sessions that are open and kept in the memory of this instance',
    registers,
    collect() {
      this.set(gauges.activeSessions());
    },
  });
  new Gauge({
    name: 'ussd_sweep_lag_seconds',
    help: 'Time since a sweep last left nothing behind',
    registers,
    collect() {
      this.set(gauges.sweepLagSeconds());
    },
  });
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
    /** One request and what became of it. */
    countRequest: (outcome: string) => requests.set(outcome, (requests.get(outcome) ?? 0) + 1),
    observeRequest: (seconds: number) => durations.count(seconds),
    countActionFailure: (action: string) => failures.inc({ action }),
    countSimSwapCheck: (result: string) => simSwapChecks.inc({ result }),
    countSms: (result: string) => sms.inc({ result }),
    /** A delivery receipt, by the state of its message. */
    countReceipt: (state: string) => receipts.inc({ state }),
    /** `ahead`: nobody waited for it; `call`: a caller did. */
    countFormLoad: (by: 'ahead' | 'call') => formLoads.inc({ by }),
  };
}

export type UssdMetrics = ReturnType<typeof createUssdMetrics>;
