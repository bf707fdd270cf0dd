import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import smpp, { type Pdu } from 'smpp';
import type { SmppOptions } from '../smpp-options.ts';
import { type Connection, openConnection, statusNames } from './smpp-connection.ts';
import { toAddress, toMessages } from './smpp-text.ts';
import type { SmsProvider } from './sms-provider.ts';

export type SubmitResult =
  | { ok: true; messageId: string }
  /** `again`: it was not sent; `refused`: it never will be; `unknown`: the link broke before an answer. */
  | { ok: false; kind: 'again' | 'refused' | 'unknown'; fault: string };

export interface SubmitOptions {
  deadlineMs: number;
  /** Takes it back while it waits. */
  signal?: AbortSignal;
  /** Submits it again where its outcome is unknown: for what the other side recognises. */
  isRepeatable: boolean;
}

/** One bind to an SMSC, which is made again whenever it is lost. */
export interface SmppLink {
  readonly name: string;
  readonly options: SmppOptions;
  isBound(): boolean;
  /** In order: what a lost link has not taken goes first over the next one. */
  submit(fields: object, options: SubmitOptions): Promise<SubmitResult>;
  stop(): Promise<void>;
}

/** The status of the response to a message that the SMSC delivers. */
export type OnDeliver = (pdu: Pdu, link: SmppLink) => Promise<number>;

interface Submission {
  fields: object;
  isRepeatable: boolean;
  isOver: boolean;
  /** Why it still waits. */
  fault: string;
  settle(result: SubmitResult): void;
}

const { errors } = smpp;
const firstPauseMs = 500;
const maxPauseMs = 30_000;
const throttledMs = 1_000;
/** How late a timer may be without lowering the rate of a link. */
const catchUpMs = 100;
/** For a link, or for a place in its window. */
const maxWaiting = 10_000;
const systemError = errors.ESME_RSYSERR ?? 8;
const throttled = new Set([errors.ESME_RTHROTTLED, errors.ESME_RMSGQFUL]);

function startSmppLink(options: SmppOptions, { onDeliver, logger }: { onDeliver: OnDeliver; logger: Logger }) {
  const stopping = new AbortController();
  const ending = new AbortController();
  const waiting: Submission[] = [];
  let bound: Connection | undefined;
  let inFlight = 0;
  let nextAt = 0;
  let isPacing = false;
  const name = `${options.host}:${options.port}`;
  const intervalMs = options.perSecond ? 1_000 / options.perSecond : 0;

  const link: SmppLink = {
    name,
    options,
    isBound: () => bound !== undefined,
    submit: (fields, { deadlineMs, isRepeatable, signal }) =>
      new Promise((resolve) => {
        const submission: Submission = { fields, isRepeatable, isOver: false, fault: 'no SMSC is connected', settle };
        const timer = setTimeout(end, deadlineMs);
        signal?.addEventListener('abort', end);
        waiting.push(submission);
        if (waiting.length > maxWaiting) submission.fault = 'too many messages wait';
        if (waiting.length > maxWaiting || signal?.aborted || stopping.signal.aborted) end();
        sendWaiting();

        /** One that was sent waits for its outcome. */
        function end(): void {
          submission.isOver = true;
          const place = waiting.indexOf(submission);
          if (place >= 0) waiting.splice(place, 1).forEach(giveUp);
        }
        function settle(result: SubmitResult): void {
          clearTimeout(timer);
          signal?.removeEventListener('abort', end);
          resolve(result);
        }
      }),
    async stop() {
      stopping.abort();
      waiting.splice(0).forEach(giveUp);
      await bound?.unbind();
      ending.abort();
      await running;
    },
  };

  function giveUp({ settle, fault }: Submission): void {
    settle({ ok: false, kind: 'again', fault });
  }

  /** Spreads messages over the second, and holds all of them back after the SMSC has asked for less. */
  function sendWaiting(): void {
    while (bound && inFlight < options.window) {
      const now = performance.now();
      if (now < nextAt) {
        if (isPacing) return;
        isPacing = true;
        setTimeout(() => {
          isPacing = false;
          sendWaiting();
        }, nextAt - now);
        return;
      }
      const next = waiting.shift();
      if (!next) return;
      nextAt = Math.max(nextAt, now - catchUpMs) + intervalMs;
      void send(bound, next);
    }
  }

  async function send(connection: Connection, submission: Submission): Promise<void> {
    inFlight += 1;
    const result = await submitOnce(connection, submission.fields);
    inFlight -= 1;
    if (result.ok || result.kind === 'refused' || (result.kind === 'unknown' && !submission.isRepeatable))
      submission.settle(result);
    else {
      submission.fault = result.fault;
      if (submission.isOver || stopping.signal.aborted) giveUp(submission);
      else waiting.unshift(submission);
    }
    sendWaiting();
  }

  async function submitOnce(connection: Connection, fields: object): Promise<SubmitResult> {
    const response = await connection.request('submit_sm', fields);
    if (typeof response === 'string') {
      if (bound === connection) bound = undefined;
      return { ok: false, kind: response === 'unsent' ? 'again' : 'unknown', fault: 'the link to the SMSC broke' };
    }
    const { command_status: status, message_id: messageId = '' } = response;
    if (status === 0) return { ok: true, messageId };
    const fault = statusNames.get(status) ?? `status ${status}`;
    if (!throttled.has(status)) return { ok: false, kind: 'refused', fault };
    nextAt = Math.max(nextAt, performance.now() + throttledMs);
    return { ok: false, kind: 'again', fault };
  }

  async function deliver(pdu: Pdu): Promise<number> {
    try {
      return await onDeliver(pdu, link);
    } catch (error) {
      if (!(error instanceof AppError))
        logger.warn({ smsc: name, err: error }, 'a message of the SMSC was not handled');
      return systemError;
    }
  }

  async function run(): Promise<void> {
    for (let pauseMs = firstPauseMs; !stopping.signal.aborted; ) {
      try {
        const connection = await openConnection(options, deliver, ending.signal);
        bound = connection;
        pauseMs = firstPauseMs;
        logger.info({ smsc: name }, 'the SMSC is connected');
        sendWaiting();
        const reason = await connection.closed;
        if (!stopping.signal.aborted) logger.warn({ smsc: name, reason }, 'the link to the SMSC broke');
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        logger.warn({ smsc: name, reason }, 'no SMSC is connected');
      }
      bound = undefined;
      // Instances that lost the same SMSC do not come back at the same moment.
      const wait = pauseMs * (0.5 + Math.random() / 2);
      await sleep(wait, undefined, { signal: stopping.signal }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, maxPauseMs);
    }
  }
  const running = run();
  return link;
}

/** Until an SMSC is back the outbox waits, not the message. */
const firstPartMs = 5_000;
/** The parts after the first must follow: a message is not begun twice. */
const laterPartMs = 20_000;

export function startSmppLinks(all: readonly SmppOptions[], logger: Logger) {
  let receiver: OnDeliver = async () => smpp.errors.ESME_RTHROTTLED ?? 0x58;
  let turn = 0;
  const links = all.map((options) => startSmppLink(options, { onDeliver: (pdu, link) => receiver(pdu, link), logger }));
  const choose = (): SmppLink | undefined => {
    const bound = links.filter((link) => link.isBound());
    turn += 1;
    return bound[turn % bound.length];
  };
  return {
    /** Handles what SMSCs deliver; until then they are asked to try again. */
    receive(onDeliver: OnDeliver) {
      receiver = onDeliver;
    },
    choose,
    countBound: () => links.filter((link) => link.isBound()).length,
    toProvider: (from: string | undefined): SmsProvider => ({
      // An SMSC does not recognise a message that is submitted again.
      isIdempotent: false,
      async send({ to, text }) {
        const link = choose();
        if (!link) return { ok: false, kind: 'again', fault: 'no SMSC is connected' };
        const source = from === undefined ? undefined : toAddress(from);
        const target = toAddress(to);
        const parts = toMessages(text);
        let reference = '';
        for (const [i, part] of parts.entries()) {
          const fields = {
            ...(source && { source_addr: source.addr, source_addr_ton: source.ton, source_addr_npi: source.npi }),
            destination_addr: target.addr,
            dest_addr_ton: target.ton,
            dest_addr_npi: target.npi,
            registered_delivery: 1,
            ...part,
          };
          const deadlineMs = i === 0 ? firstPartMs : laterPartMs;
          const sent = await link.submit(fields, { deadlineMs, isRepeatable: false });
          if (sent.ok) {
            // Of the last part: a message has arrived when all of it has.
            reference = sent.messageId;
            continue;
          }
          if (i === 0) return sent;
          const fault = `part ${i + 1} of ${parts.length}: ${sent.fault}`;
          return { ok: false, kind: sent.kind === 'refused' ? 'refused' : 'unknown', fault };
        }
        return { ok: true, reference };
      },
    }),
    async stop() {
      await Promise.all(links.map((link) => link.stop()));
    },
  };
}
