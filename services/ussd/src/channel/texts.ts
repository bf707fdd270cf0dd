import { AppError, phoneNumberPattern } from '@palaver/contract';
import type { Surface } from '@palaver/program';
import { type Dialogue, hasText, type Menu, nameOf, toShowable, translate } from '@palaver/program/internal';
import type { Logger } from '@palaver/service-kit';
import { createLimiter } from '@palaver/service-kit/internal';
import type { CallRoom, RequestResult } from '../calls/call.ts';
import { callTexts } from '../catalog/bundled-program.ts';
import { asksSecret, codesOf, startWords, stopWords } from '../catalog/program-files.ts';
import { answersPerDay } from '../outgoing/messages.ts';
import { sessionStatus } from '../store/session-row.ts';
import { type Channel, UssdCall } from './ussd-call.ts';

// A program by SMS: a keyword opens it, each further text is an input, and each screen is a message of the outbox.

export interface ReceivedText {
  from: string;
  to: string;
  text: string;
  /** The provider's own, the same where it delivers the text again. */
  id?: string | undefined;
  /** If it had to wait. */
  arrivedAt?: number;
  /** Of the same text without an id. */
  repeatWithinMs?: number;
  /** Takes what is answered, which is then sent to nobody. */
  show?: ((text: string) => void) | undefined;
}

/** Resolves once everything is stored, with what to do when the provider knows it. */
export type ReceiveText = (received: ReceivedText, log: Logger) => Promise<() => void>;

interface Correspondent {
  phoneNumber: string;
  to: string;
  show?: ReceivedText['show'];
}

/** A message of two parts: 153 characters of GSM-7 or 67 of UCS-2 in each. */
const surface: Surface = { counts: 'gsm', characters: 306, wideCharacters: 134, choices: 'numbered' };
const partsOfScreen = 2;
const maxParts = 100;
const maxCharacters = 1_000;
/** Where a provider gives texts no id, the same text this soon is one that it delivers again. */
const repeatForMs = 60_000;
const nothing = () => undefined;
const toSequence = (id: string) => `text ${id}`;

/** For programs without texts of their own. */
const texts = {
  secret: [callTexts.textSecret, 'Secrets are not asked in messages. Please dial'],
  full: [callTexts.textFull, 'This conversation has become too long. Send the keyword to begin again.'],
} as const;
const stopped = 'You will get no more messages from us. Send START to get them again.';
const started = 'You will get our messages again.';
const last = `${answersPerDay} messages a day are answered. Please write again tomorrow.`;

export function createTexts(parts: Channel) {
  const { config, handleRequest, inputLog, messages, sendSoon, metrics, profiles, programs, textHash, clock } = parts;
  const keyOf = ({ phoneNumber, to }: Correspondent) => `sms-${textHash.ofText('sms', `${phoneNumber} ${to}`)}`;

  /** Shows the first screen of a program, or returns false; `id` tells this opening from others. */
  async function open(person: Correspondent, keyword: string, { id, log }: { id: string; log: Logger }) {
    const opened = { phoneNumber: person.phoneNumber, serviceCode: keyword };
    const callId = await inputLog.openReused(keyOf(person), { ...opened, isTexting: true, received: [toSequence(id)] });
    if (callId === undefined) return false;
    const call = new TextCall({ ...opened, sessionId: callId, text: '' }, textHash);
    return answer(person, await handleRequest(call, log), { id: `${callId}-0-${id}`, keyword });
  }

  async function proceed(
    person: Correspondent,
    input: string,
    { id, log, ...at }: Pick<ReceivedText, 'id' | 'arrivedAt' | 'repeatWithinMs'> & { log: Logger },
  ) {
    const { phoneNumber } = person;
    const key = keyOf(person);
    const sequence = id === undefined ? undefined : toSequence(id);
    const newest = { input, sequence, repeatForMs, arrivedAt: clock.now(), ...at };
    const kept = await inputLog.append(key, phoneNumber, newest);
    if (!kept) return count('unknown');
    if ('ended' in kept) return count('retried');
    const { callId = key, serviceCode: keyword, text, confirm } = kept;
    const call = new TextCall({ sessionId: callId, phoneNumber, serviceCode: keyword, text }, textHash);
    const result = await handleRequest(call, log);
    if ('reply' in result && result.reply.startsWith('END '))
      await inputLog.remove(key, { sequence, input, phoneNumber, reply: result.reply }, true);
    await answer(person, result, { id: `${callId}-${call.inputs.length}`, keyword });
    return confirm;
  }

  async function answer(
    person: Correspondent,
    result: RequestResult,
    { id, keyword }: { id: string; keyword: string },
  ) {
    if ('invalid' in result) {
      count('invalid');
      return false;
    }
    count(result.kind);
    // The same text once more has the same screen, under the same id.
    return say(person, id, { text: result.reply.slice('CON '.length), program: programs.forKeyword(keyword) });
  }

  async function say(
    person: Correspondent,
    id: string,
    { text, program }: { text: string; program?: Menu | undefined },
  ) {
    const { phoneNumber: phone, show } = person;
    if (show) {
      show(text);
      return true;
    }
    const name = program ? nameOf(program.id) : '';
    const message = { id, program: name, phone, text, dialogue: keyOf(person), now: clock.now() };
    const isQueued = await messages.answer(message);
    sendSoon();
    return isQueued;
  }

  async function setStopped(person: Correspondent, isStopped: boolean, id: string) {
    // First: a number that is stopped already is not answered, which includes one whose text is delivered again.
    const isTold = await say(person, `${keyOf(person)}-${isStopped ? 'stop' : 'start'}-${id}`, {
      text: isStopped ? stopped : started,
    });
    // Senders can be forged: the number learns that its stop is lifted.
    if (!isTold && !isStopped) return count('limited');
    await profiles.setStopped(person.phoneNumber, isStopped ? clock.now() : null);
    if (isStopped) await inputLog.hangUp(keyOf(person));
    return count(isStopped ? 'stopped' : 'started');
  }

  function count(outcome: string) {
    metrics.countText(outcome);
    return nothing;
  }

  const take: ReceiveText = async ({ from, to, text, id, show, ...at }, log) => {
    const phoneNumber = config.PHONE_PLUS_OPTIONAL && /^\d/.test(from) ? `+${from}` : from;
    const input = text.replace(/\p{Cc}+/gu, ' ').trim();
    if (!phoneNumberPattern.test(phoneNumber) || input === '' || input.length > maxCharacters) return count('invalid');
    const person = { phoneNumber, to, show };
    const word = input.toUpperCase();
    const known = id === undefined ? undefined : textHash.ofText('sms id', id);
    // A text that was lost on its way may come after the next one.
    if (known && (await inputLog.wasReceived(keyOf(person), toSequence(known)))) return count('retried');
    // A provider without ids may have its keyword answered twice.
    const own = known ?? String(clock.now());
    const isStopped = await profiles.isStopped(phoneNumber);
    const isStop = stopWords.has(word);
    if (isStop || startWords.has(word))
      return isStop === isStopped ? count('ignored') : setStopped(person, isStop, own);
    const isProgram = programs.forKeyword(word) !== undefined;
    if (isStopped && !isProgram) return count('ignored');
    const left = await messages.answersLeft(phoneNumber, clock.now());
    if (left <= 0) return count('limited');
    if (left === 1) {
      await say(person, `${keyOf(person)}-last-${own}`, { text: last });
      return count('limited');
    }
    if (!isProgram) return proceed(person, input, { ...at, id: known, log });
    // Whoever asks for a program wants its answer.
    if ((await open(person, word, { id: own, log })) && isStopped) await profiles.setStopped(phoneNumber, null);
    return nothing;
  };
  const limit = createLimiter({
    concurrency: config.USSD_MAX_IN_FLIGHT,
    maxWaiting: 0,
    toError() {
      count('shed');
      return new AppError('UNAVAILABLE', 'Too many text messages are under way.');
    },
  });
  const receive: ReceiveText = (received, log) => limit(() => take(received, log));
  return { receive, open };
}

export type Texts = ReturnType<typeof createTexts>;

/** No room is left where a secret would be asked, which would stay on the phone, and after too many messages. */
class TextCall extends UssdCall {
  readonly surface = surface;
  override readonly openStatus = sessionStatus.texting;

  override measureRoom(menu: Menu, dialogue: Dialogue): CallRoom {
    if (asksSecret(menu.states.get(dialogue.state))) {
      const [code] = codesOf(menu);
      return { kind: 'full', closing: [say(texts.secret), code ?? ''].join(' ').trim() };
    }
    const isFull = (this.inputs.length + 2) * partsOfScreen > maxParts;
    return isFull ? { kind: 'full', closing: say(texts.full) } : super.measureRoom(menu, dialogue);

    function say([key, otherwise]: (typeof texts)[keyof typeof texts]): string {
      return toShowable(hasText(menu, dialogue, key) ? translate(menu.locales, dialogue.language, key) : otherwise);
    }
  }
}
