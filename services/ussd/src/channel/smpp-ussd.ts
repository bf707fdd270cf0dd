import { randomInt } from 'node:crypto';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@palaver/contract';
import { createLimiter } from '@palaver/service-kit/internal';
import smpp, { type Pdu } from 'smpp';
import type { OnDeliver, SmppLink } from '../outgoing/smpp-link.ts';
import { readPart, readText, toAddress, toScreen } from '../outgoing/smpp-text.ts';
import type { TextHash } from '../store/text-hash.ts';
import type { AdapterRequest } from './adapter.ts';
import { createLongTexts } from './long-texts.ts';
import type { ReceivedText, Texts } from './texts.ts';
import type { Answer, Channel } from './ussd-call.ts';

export interface SmppReceiverParts extends Channel {
  answer: Answer;
  texts: Texts;
}

type SentBy = Pick<
  Pdu,
  'source_addr' | 'source_addr_ton' | 'destination_addr' | 'dest_addr_ton' | 'short_message' | 'message_payload'
> &
  Record<string, unknown>;

/** `ussd_service_op` of SMPP 3.4, section 5.3.2.44. */
const operations = { pssrIndication: 1, ussrRequest: 2, pssrResponse: 17, ussrConfirm: 18 } as const;
/** The lowest bit of the second byte of `its_session_info`: this message ends the session. */
const endBit = 1;
/** In the first byte. */
const sessionNumbers = 256;
const receiptWaitMs = 1_000;
/** Nobody gets a text message, reads it and answers this soon. */
const repeatWithinMs = 3_000;
/** Of an input, for a place among those under way; the SMSC delivers one again that is refused then. */
const inputWaitMs = 8_000;
const maxWaiting = 10_000;
/** An operator waits for it. */
const pushMs = 30_000;

export function createSmppReceiver(parts: SmppReceiverParts) {
  const { answer, inputLog, metrics, clock, logger } = parts;
  // Below the bound of all calls, beyond which `answer` refuses. HTTP has the other half.
  const limit = createLimiter({
    concurrency: Math.ceil(parts.config.USSD_MAX_IN_FLIGHT / 2),
    maxWaiting,
    maxWaitMs: inputWaitMs,
    toError: () => new AppError('UNAVAILABLE', 'Too many inputs are under way.'),
  });
  const joinParts = createLongTexts(parts);
  /** The newest input of each session, until its screen is sent. */
  const underWay = new Map<string, Input>();
  const recentTexts = new Map<string, Promise<number>>();
  const deliver: OnDeliver = async (pdu, link) => {
    const receipt = toReceipt(pdu);
    if (receipt) {
      metrics.countReceipt(receipt.state);
      const { messageId, state } = receipt;
      // It may be faster than the response to the message.
      const note = () => parts.messages.noteReceipt(messageId, state, toNumber(pdu.source_addr ?? ''));
      const isKnown = (await note()) || (await sleep(receiptWaitMs).then(note));
      logger.info({ ...receipt, isKnown }, 'a delivery receipt');
      return 0;
    }
    const arrivedAt = clock.now();
    const { ussd_service_op: operation } = pdu;
    const isFirst = operation === operations.pssrIndication;
    if (!isFirst && operation !== operations.ussrConfirm) {
      const received = { from: toNumber(pdu.source_addr ?? ''), to: pdu.destination_addr ?? '', text: readText(pdu) };
      const part = readPart(pdu);
      if (part) {
        const whole = await joinParts(part, received);
        if (!whole) return 0;
        const status = await takeText({ ...received, ...whole, arrivedAt }, link);
        await whole.forget();
        return status;
      }
      // A message has no id: the same once more is one that is delivered again.
      const key = Object.values(received).join('\n');
      const known = recentTexts.get(key);
      if (known) return known;
      const status = takeText({ ...received, arrivedAt, repeatWithinMs }, link);
      recentTexts.set(key, status);
      const forget = () => recentTexts.delete(key);
      void status.then(() => sleep(repeatWithinMs, undefined, { ref: false })).then(forget, forget);
      return status;
    }
    const session = readSession(pdu, link, parts.textHash);
    if (!session) return smpp.errors.ESME_RMISSINGOPTPARAM ?? 0xc3;
    const { key, sequence, isEnd } = session;
    const before = underWay.get(key);
    const typed = `${sequence} ${readText(pdu)}`;
    const isRepeated = before?.typed === typed && before.link === link;
    // The old screen would be shown in the new call, which has the same session number.
    if (!isRepeated && (isFirst || isEnd)) before?.stop.abort();
    if (isEnd && !isFirst) {
      await inputLog.hangUp(key);
      return 0;
    }
    // Delivered again over a new connection, and already under way.
    if (isRepeated) return before.status;
    const stop = new AbortController();
    const input: Input = { typed, link, stop, isFirst, arrivedAt, status: Promise.resolve(0) };
    input.status = answerInput(pdu, session, input);
    underWay.set(key, input);
    input.status.catch(() => forget(key, input));
    return input.status;
  };

  function forget(key: string, input: Input): void {
    if (underWay.get(key) === input) underWay.delete(key);
  }

  async function takeText(received: ReceivedText, link: SmppLink): Promise<number> {
    const confirm = await parts.texts.receive(received, logger);
    // The response goes first: a text whose response is lost is delivered again.
    void setImmediate().then(() => link.isBound() && confirm());
    return 0;
  }

  async function answerInput(pdu: Pdu, session: LinkSession, input: Input): Promise<number> {
    const { isFirst, arrivedAt } = input;
    const confirms: (() => void)[] = [];
    const request = toRequest(pdu, session, { isFirst, arrivedAt });
    const text = await limit(() => answer(request, logger, (confirm) => confirms.push(confirm)));
    if (text === '') forget(session.key, input);
    // The response to the input goes first: without it the SMSC does not expect a screen.
    else
      void sendScreen(pdu, session.info, text, input)
        .then((isSent) => {
          if (isSent) for (const confirm of confirms) confirm();
        })
        .finally(() => forget(session.key, input));
    return 0;
  }

  return {
    deliver,
    /** Opens a session that the network has not opened: its first message is a request. */
    async push(phoneNumber: string, code: string): Promise<boolean> {
      const link = parts.smpp?.choose();
      if (!link) return false;
      const { sessionField } = link.options;
      const first = randomInt(sessionNumbers);
      for (let i = 0; i < sessionNumbers; i++) {
        const number = (first + i) % sessionNumbers;
        const pdu = {
          source_addr: phoneNumber.slice(1),
          destination_addr: code.replace(/^\*|#$/g, ''),
          [sessionField]: Buffer.from(sessionField === 'its_session_info' ? [number, 0] : [number]),
        };
        const session = readSession(pdu, link, parts.textHash);
        if (!session || (await inputLog.isKnown(session.key))) continue;
        const text = await answer(toRequest(pdu, session, { isFirst: true }), logger, () => undefined).catch(() => '');
        return text.startsWith('CON ') && sendScreen(pdu, session.info, text, { link, deadlineMs: pushMs });
      }
      return false;
    },
  };

  async function sendScreen(
    pdu: SentBy,
    info: Buffer,
    reply: string,
    { link, stop, deadlineMs = parts.timeoutMs }: Pick<Input, 'link'> & { stop?: AbortController; deadlineMs?: number },
  ): Promise<boolean> {
    await setImmediate();
    const { sessionField, lastOperation } = link.options;
    const isEnd = reply.startsWith('END ');
    const caller = toAddress(`+${pdu.source_addr}`);
    const fields = {
      service_type: 'USSD',
      source_addr: pdu.destination_addr,
      source_addr_ton: pdu.dest_addr_ton,
      destination_addr: caller.addr,
      dest_addr_ton: pdu.source_addr_ton,
      dest_addr_npi: caller.npi,
      ussd_service_op: isEnd ? lastOperation : operations.ussrRequest,
      [sessionField]: isEnd ? withEnd(sessionField, info) : info,
      ...toScreen(reply.slice(4)),
    };
    // Submitted again after a lost link: the SMSC knows a screen by its session.
    const sent = await link.submit(fields, { deadlineMs, isRepeatable: true, ...(stop && { signal: stop.signal }) });
    metrics.countScreen(
      sent.ok ? 'sent' : stop?.signal.aborted ? 'left' : sent.kind === 'refused' ? 'refused' : 'late',
    );
    if (!sent.ok) logger.warn({ fault: sent.fault }, 'a screen was not sent');
    return sent.ok;
  }
}

interface Input {
  typed: string;
  link: SmppLink;
  isFirst: boolean;
  arrivedAt: number;
  /** Takes its screen back. */
  stop: AbortController;
  status: Promise<number>;
}

type LinkSession = NonNullable<ReturnType<typeof readSession>>;

function readSession(pdu: SentBy, { options: { sessionField } }: SmppLink, textHash: TextHash) {
  const info = pdu[sessionField];
  if (!Buffer.isBuffer(info) || info.length === 0) return undefined;
  const isStandard = sessionField === 'its_session_info';
  // The second byte counts the messages of the session.
  const id = isStandard ? info.subarray(0, 1) : info;
  const isEnd = isStandard && ((info[1] ?? 0) & endBit) === endBit;
  return {
    /** Of the call in progress: a later call of the number may have the same. */
    key: `smpp-${textHash.ofText('smpp', `${pdu.source_addr} ${id.toString('hex')}`)}`,
    info,
    /** The same in a message that is delivered again, and in all where the centre counts none. */
    sequence: `session ${info.toString('hex')}`,
    isEnd,
  };
}

function withEnd(sessionField: string, info: Buffer): Buffer {
  if (sessionField !== 'its_session_info' || info.length < 2) return info;
  return Buffer.from([info[0] ?? 0, (info[1] ?? 0) | endBit]);
}

const toNumber = (address: string) => (/^\d+$/.test(address) ? `+${address}` : address);

function toRequest(
  pdu: SentBy,
  { key: sessionId, sequence }: LinkSession,
  at: { isFirst: boolean; arrivedAt?: number },
): AdapterRequest {
  const text = readText(pdu);
  const number = pdu.source_addr ?? '';
  const dialled = /^\*\d+(\*\d+)*#$/.test(text) ? text : `*${pdu.destination_addr?.replace(/^\*|#$/g, '')}#`;
  return {
    sessionId,
    phoneNumber: toNumber(number),
    serviceCode: at.isFirst ? dialled : undefined,
    input: { value: at.isFirst ? '' : text, isReused: true, sequence, ...at },
  };
}

const receiptBits = 0x3c;
const isReceipt = 0x04;
/** By the number that `message_state` has. */
const states = ['', 'ENROUTE', 'DELIVRD', 'EXPIRED', 'DELETED', 'UNDELIV', 'ACCEPTD', 'UNKNOWN', 'REJECTD'];

/** Receipts have fields of their own, or a text such as `id:12 … stat:DELIVRD …`. */
function toReceipt(pdu: Pdu): { messageId: string; state: string } | undefined {
  if (((pdu.esm_class ?? 0) & receiptBits) !== isReceipt) return undefined;
  const text = readText(pdu);
  const state = states[pdu.message_state ?? 0] || /stat:(\w+)/i.exec(text)?.[1]?.toUpperCase();
  return {
    messageId: pdu.receipted_message_id ?? /id:(\S+)/i.exec(text)?.[1] ?? '',
    state: state && states.includes(state) ? state : 'UNKNOWN',
  };
}
