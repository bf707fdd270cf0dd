import { AppError } from '@palaver/contract';
import { ussdReplies, ussdRequestSchema } from '@palaver/contract/internal';
import { type Dialogue, type Input, type Menu, toInput, toShowable } from '@palaver/program/internal';
import type { Logger } from '@palaver/service-kit';
import type { z } from 'zod';
import type { Call, CallRoom } from '../calls/call.ts';
import type { Started } from '../calls/start-calls.ts';
import type { UssdConfig } from '../config.ts';
import { sessionStatus } from '../store/session-row.ts';
import type { SessionTable } from '../store/tables.ts';
import type { TextHash } from '../store/text-hash.ts';
import type { AdapterRequest, NewestInput } from './adapter.ts';
import { measureCallRoom } from './call-room.ts';
import type { InputLog } from './input-log.ts';
import { type Part, toNewParts, toParts } from './text-parts.ts';

export type UssdRequest = z.infer<typeof ussdRequestSchema>;

export interface Channel extends Started {
  inputLog: InputLog;
}

interface CallRequest extends UssdRequest {
  /** The id of the call, where that of the session is used again. */
  callId?: string | undefined;
  confirm?: () => void;
}

/** `onConfirm` takes what to do once the gateway has the reply. Over SMPP an empty reply is not sent. */
export type Answer = (
  input: AdapterRequest | undefined,
  log: Logger,
  onConfirm: (confirm: () => void) => void,
) => Promise<string>;

export function createAnswer(parts: Channel): Answer {
  const { config, metrics, handleRequest, inputLog, textHash, clock } = parts;
  let inFlight = 0;
  // One function, not one around the other: every key press would pay for one more promise.
  return async (input, log, onConfirm) => {
    // Beyond the bound a reply at once: later it would come after the telecom gateway has given up, and cost the others time.
    if (inFlight >= config.USSD_MAX_IN_FLIGHT) {
      metrics.countRequest('shed');
      if (input?.input?.isReused) throw new AppError('UNAVAILABLE', 'Too many inputs are under way.');
      return `END ${toShowable(config.USSD_BUSY_TEXT)}`;
    }
    inFlight += 1;
    const started = performance.now();
    const newest = input?.input;
    const arrivedAt = newest?.arrivedAt ?? clock.now();
    try {
      const valid = toUssdRequest(config, input);
      // Awaited only where needed, for the same reason.
      const isLater = newest?.isFirst === false || newest?.sequence !== undefined;
      const request =
        newest && isLater && !('invalid' in valid) ? await addInputs(parts, valid, { ...newest, arrivedAt }) : valid;
      if ('ended' in request) {
        metrics.countRequest('retried');
        return request.ended;
      }
      // A session id that the network uses again is no key of this call.
      if (newest?.isReused && newest.isFirst && !('invalid' in request)) {
        const { sessionId, phoneNumber, serviceCode } = request;
        const opened = { phoneNumber, serviceCode, openedWith: newest.sequence, received: [], arrivedAt };
        request.callId = await inputLog.openReused(sessionId, opened);
        if (request.callId === undefined) {
          metrics.countRequest('retried');
          return '';
        }
      }
      const result = 'invalid' in request ? request : await handleRequest(new UssdCall(request, textHash), log);
      if ('invalid' in result) {
        metrics.countRequest('invalid');
        log.info({ reason: result.invalid, operator: input?.operator }, 'invalid request');
        return ussdReplies.invalidInput;
      }
      metrics.countRequest(result.kind);
      metrics.observeRequest((performance.now() - started) / 1000);
      if (newest && !('invalid' in request)) {
        const { sessionId, phoneNumber, serviceCode, text, confirm } = request;
        const { reply } = result;
        const last = { sequence: newest.sequence, input: String(newest.value), phoneNumber, reply };
        if (reply.startsWith('END '))
          await inputLog.remove(sessionId, newest.isFirst ? undefined : last, newest.isReused);
        // Only now is it known that the session is this number's.
        else if (newest.isFirst && !newest.isReused && text === '')
          await inputLog.open(sessionId, {
            phoneNumber,
            serviceCode,
            text,
            received: newest.sequence === undefined ? [] : [newest.sequence],
          });
        else if (confirm) onConfirm(confirm);
      }
      return result.reply;
    } catch (error) {
      metrics.countRequest('failed');
      log.error({ err: error }, 'a request failed');
      // An SMSC delivers again what is refused.
      if (newest?.isReused) throw error;
      return ussdReplies.unavailable;
    } finally {
      inFlight -= 1;
    }
  };
}

function toUssdRequest(config: UssdConfig, input: AdapterRequest | undefined): CallRequest | { invalid: string } {
  if (!input) return { invalid: 'the body cannot be read' };
  const { sessionId, serviceCode, input: newest } = input;
  const phoneNumber =
    config.PHONE_PLUS_OPTIONAL && typeof input.phoneNumber === 'string' && /^\d/.test(input.phoneNumber)
      ? `+${input.phoneNumber}`
      : input.phoneNumber;
  const isLater = newest !== undefined && !newest.isFirst;
  const parsed = ussdRequestSchema.safeParse({
    sessionId,
    phoneNumber,
    // Later requests of such a gateway do not repeat the code; the one of the first is kept.
    serviceCode: isLater ? '*0#' : serviceCode,
    text: newest ? newest.value : input.text,
  });
  if (!parsed.success)
    return { invalid: parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ') };
  const request = parsed.data;
  if (!isLater && config.SERVICE_CODES.length > 0 && !config.SERVICE_CODES.includes(request.serviceCode))
    return { invalid: 'serviceCode: is not one of SERVICE_CODES' };
  return request;
}

async function addInputs(
  { inputLog }: Channel,
  request: UssdRequest,
  { isFirst, isReused, sequence, repeatWithinMs, arrivedAt }: NewestInput & { arrivedAt: number },
): Promise<CallRequest | { ended: string } | { invalid: string }> {
  if (isFirst) {
    const opened = isReused ? undefined : await inputLog.findOpened(request.sessionId, request.phoneNumber, sequence);
    return { ...request, ...opened };
  }
  const newest = { input: request.text, sequence, repeatWithinMs, arrivedAt };
  const kept = await inputLog.append(request.sessionId, request.phoneNumber, newest);
  if (!kept) return { invalid: 'the session is not known' };
  return 'ended' in kept ? kept : { ...request, ...kept };
}

export class UssdCall implements Call {
  readonly sessionId: string;
  readonly serviceCode: string;
  readonly phoneNumber: string;
  readonly inputs: readonly string[];
  readonly typedLength: number;
  readonly openStatus: number = sessionStatus.active;
  readonly #text: string;
  readonly #parts: Part[];
  readonly #textHash: TextHash;

  constructor({ sessionId, callId = sessionId, serviceCode, phoneNumber, text }: CallRequest, textHash: TextHash) {
    this.sessionId = callId;
    this.serviceCode = serviceCode;
    this.phoneNumber = phoneNumber;
    this.typedLength = text.length;
    this.#text = text;
    this.#parts = toParts(text);
    this.inputs = this.#parts.map(({ value }) => value);
    this.#textHash = textHash;
  }

  /** A session keeps the place of a secret in the text, and each request of the call repeats the text. */
  toInput(index: number): Input {
    return toInput(this.inputs, index);
  }

  hashTyped(): string {
    return this.#textHash.ofText(this.sessionId, this.#text);
  }

  findFirstNew({ text_hash: textHash, text_length: textLength }: SessionTable): number | undefined {
    const known = this.#text.slice(0, textLength);
    if (this.#textHash.ofText(this.sessionId, known) !== textHash) return undefined;
    const added = toNewParts(this.#text, textLength, this.#parts);
    return added && this.inputs.length - added.length;
  }

  toActionKey(count: number, step: number): string {
    return this.#textHash.ofAction(this.sessionId, this.inputs.slice(0, count), step);
  }

  measureRoom(menu: Menu, dialogue: Dialogue): CallRoom {
    return measureCallRoom(menu, dialogue, this.#text);
  }
}
