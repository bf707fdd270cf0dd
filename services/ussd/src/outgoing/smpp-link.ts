import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { Logger } from '@palaver/service-kit';
import smpp, { PDU, type Pdu, Session } from 'smpp';
import type { SmppOptions } from '../smpp-options.ts';

export type SubmitResult =
  | { ok: true; messageId: string }
  /** `again`: it was not sent; `refused`: it never will be; `unknown`: the link broke before an answer. */
  | { ok: false; kind: 'again' | 'refused' | 'unknown'; fault: string };

export interface SubmitOptions {
  deadlineMs: number;
  /** Submits it again where its outcome is unknown: for what the other side recognises. */
  isRepeatable: boolean;
}

/** One bind to an SMSC, which is made again whenever it is lost. */
export interface SmppLink {
  readonly options: SmppOptions;
  isBound(): boolean;
  submit(fields: object, options: SubmitOptions): Promise<SubmitResult>;
  stop(): Promise<void>;
}

/** The status of the response to a message that the SMSC delivers. */
export type OnDeliver = (pdu: Pdu, link: SmppLink) => Promise<number>;

const { errors } = smpp;
const responseMs = 10_000;
const firstPauseMs = 500;
const maxPauseMs = 30_000;
const unbindMs = 1_000;
/** Waiting for a place in the window. */
const maxWaiting = 10_000;
const invalidCommand = errors.ESME_RINVCMDID ?? 3;
const throttled = new Set([errors.ESME_RTHROTTLED, errors.ESME_RMSGQFUL]);
const statusNames = new Map(Object.entries(errors).map(([name, status]) => [status, name]));

export function startSmppLink(
  options: SmppOptions,
  { onDeliver, logger }: { onDeliver: OnDeliver; logger: Logger },
): SmppLink {
  const stopping = new AbortController();
  const ending = new AbortController();
  const waiting: (() => void)[] = [];
  let bound: Connection | undefined;
  let inFlight = 0;
  let nextAt = 0;
  const name = `${options.host}:${options.port}`;

  const link: SmppLink = {
    options,
    isBound: () => bound !== undefined,
    async submit(fields, { deadlineMs, isRepeatable }) {
      const endsAt = performance.now() + deadlineMs;
      let fault = 'no SMSC is connected';
      for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
        const connection = bound;
        if (connection) {
          const result = await submitOnce(connection, fields);
          if (result.ok || result.kind === 'refused') return result;
          if (result.kind === 'unknown' && !isRepeatable) return result;
          fault = result.fault;
        }
        const isLate = performance.now() + pauseMs > endsAt;
        if (isLate || stopping.signal.aborted) return { ok: false, kind: 'again', fault };
        await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    },
    async stop() {
      stopping.abort();
      await bound?.unbind();
      ending.abort();
      await running;
    },
  };

  async function submitOnce(connection: Connection, fields: object): Promise<SubmitResult> {
    if (waiting.length >= maxWaiting) return { ok: false, kind: 'again', fault: 'too many messages wait' };
    if (inFlight >= options.window) await new Promise<void>((resolve) => waiting.push(resolve));
    else inFlight += 1;
    try {
      await pace();
      const response = await connection.request('submit_sm', fields);
      if (response === 'unsent') return { ok: false, kind: 'again', fault: 'the link to the SMSC broke' };
      if (response === 'unanswered') return { ok: false, kind: 'unknown', fault: 'the link to the SMSC broke' };
      const { command_status: status, message_id: messageId = '' } = response;
      if (status === 0) return { ok: true, messageId };
      const fault = statusNames.get(status) ?? `status ${status}`;
      if (!throttled.has(status)) return { ok: false, kind: 'refused', fault };
      nextAt = Math.max(nextAt, performance.now() + 1_000);
      return { ok: false, kind: 'again', fault };
    } finally {
      // The place in the window passes to the next.
      const next = waiting.shift();
      if (next) next();
      else inFlight -= 1;
    }
  }

  /** Spreads messages over the second, and holds all of them back after the SMSC has asked for less. */
  async function pace(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, nextAt);
    if (options.perSecond) nextAt = at + 1_000 / options.perSecond;
    if (at > now) await sleep(at - now);
  }

  async function run(): Promise<void> {
    for (let pauseMs = firstPauseMs; !stopping.signal.aborted; ) {
      try {
        const connection = await openConnection(options, (pdu) => onDeliver(pdu, link), ending.signal);
        bound = connection;
        pauseMs = firstPauseMs;
        logger.info({ smsc: name }, 'the SMSC is connected');
        await connection.closed;
        if (!stopping.signal.aborted) logger.warn({ smsc: name }, 'the link to the SMSC broke');
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

interface Connection {
  closed: Promise<void>;
  request(command: string, fields: object): Promise<Pdu | 'unsent' | 'unanswered'>;
  unbind(): Promise<void>;
}

/** Rejects where it cannot be opened or the SMSC refuses the bind. */
async function openConnection(
  options: SmppOptions,
  onDeliver: (pdu: Pdu) => Promise<number>,
  signal: AbortSignal,
): Promise<Connection> {
  const socket = await openSocket(options, signal);
  const session = new Session({ socket });
  const pending = new Set<() => void>();
  const closed = new Promise<void>((resolve) => session.on('close', resolve)).then(() => {
    clearInterval(enquiring);
    for (const fail of pending) fail();
  });
  // A close follows; a PDU that cannot be read leaves no way to find the next one.
  session.on('error', () => socket.destroy());

  const request: Connection['request'] = (command, fields) =>
    new Promise((resolve) => {
      const settle = (result: Pdu | 'unsent' | 'unanswered') => {
        pending.delete(fail);
        clearTimeout(timer);
        resolve(result);
      };
      const fail = () => settle('unanswered');
      // Nothing else distinguishes a dead link from a slow one.
      const timer = setTimeout(() => socket.destroy(), responseMs);
      pending.add(fail);
      if (!session.send(new PDU(command, fields), settle)) settle('unsent');
    });

  session.on('pdu', (pdu) => {
    if (pdu.isResponse()) return;
    if (pdu.command === 'deliver_sm' || pdu.command === 'data_sm') {
      const respond = (status: number) => session.send(pdu.response({ command_status: status }));
      void onDeliver(pdu).then(respond, () => respond(errors.ESME_RSYSERR ?? 8));
    } else if (pdu.command === 'unbind') {
      session.send(pdu.response());
      socket.end();
    } else if (pdu.command === 'enquire_link') session.send(pdu.response());
    // Not `response()`: some commands have none, and the library throws for those.
    else
      session.send(new PDU('generic_nack', { command_status: invalidCommand, sequence_number: pdu.sequence_number }));
  });
  const enquiring = setInterval(() => void request('enquire_link', {}), options.enquireMs);

  const response = await request('bind_transceiver', {
    system_id: options.systemId,
    password: options.password,
    system_type: options.systemType,
    interface_version: 0x34,
  });
  if (typeof response === 'string' || response.command_status !== 0) {
    socket.destroy();
    const status = typeof response === 'string' ? response : statusNames.get(response.command_status);
    throw new Error(`the bind was refused: ${status ?? response}`);
  }
  return {
    closed,
    request,
    async unbind() {
      await Promise.race([request('unbind', {}), sleep(unbindMs, undefined, { ref: false })]);
      socket.destroy();
    },
  };
}

function openSocket({ host, port, isTls }: SmppOptions, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = isTls ? connectTls({ host, port, servername: host }) : connectTcp({ host, port });
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    const end = () => fail(new Error('the service ends'));
    signal.addEventListener('abort', end, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', end));
    socket.setTimeout(responseMs, () => fail(new Error('no answer in time')));
    socket.once('error', fail);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
