import {
  type ActionResult,
  type ActionState,
  type BuiltInName,
  claimsPerDay,
  computeFields,
  computeText,
  nameOf,
  toShowable,
} from '@palaver/program/internal';
import { maskNumbers } from '@palaver/service-kit/internal';
import type { Claims } from '../money/claims.ts';
import type { Messages } from '../outgoing/messages.ts';
import type { QueryClient } from '../outgoing/query-client.ts';
import type { RecordStore } from '../store/records.ts';
import { dayMs } from '../store/tables.ts';
import type { Action, BuiltInCall, Runs } from './action.ts';
import { askServer, queryProtocol, type ServerAccess } from './http-actions.ts';
import { createRecordActions, toId } from './record-actions.ts';

export interface BuiltInParts extends ServerAccess {
  records: RecordStore;
  messages: Pick<Messages, 'queue'>;
  protocol: Pick<QueryClient, 'query'> | undefined;
  claims: Pick<Claims, 'add' | 'countSince'> | undefined;
  askAssistant: Action['run'];
}

export type RunBuiltIn = (state: ActionState, call: Omit<BuiltInCall, 'spec'>) => Promise<ActionResult>;

export function createBuiltInActions(parts: BuiltInParts): RunBuiltIn {
  const runs: Runs = {
    ...createRecordActions(parts.records),
    http: (call) => askServer(parts, call),
    protocol: (call) => queryProtocol(parts.servers?.protocol ?? parts.protocol, call),
    sms: (call) => queueMessage(parts.messages, call),
    assistant: (call) => askAssistant(parts.askAssistant, call),
    claim: (call) => fileClaim(parts.servers?.claims ?? parts.claims, call),
  };
  return ({ action, spec }, call) => {
    const run = runs[action as BuiltInName] as (call: BuiltInCall) => Promise<ActionResult>;
    if (!spec) throw new Error(`${action} is not a built-in action`);
    return run({ ...call, spec });
  };
}

/** Three messages that the network joins. */
const maxSmsCharacters = 459;

function queueMessage(messages: BuiltInParts['messages'], call: BuiltInCall<'sms'>): Promise<ActionResult> {
  const { spec, menu, dialogue, context } = call;
  const { phoneNumber: caller, now, key } = context;
  const text = toShowable(context.say(spec.sms.text, dialogue.values));
  return context.commit(async (trx) => {
    const isQueued = await messages.queue(trx, {
      id: toId(key),
      program: nameOf(menu.id),
      phone: computeText(menu, dialogue, spec.sms.number),
      caller,
      text: Array.from(text).slice(0, maxSmsCharacters).join(''),
      now,
    });
    return { outcome: isQueued ? 'queued' : 'refused' };
  });
}

function askAssistant(ask: Action['run'], call: BuiltInCall<'assistant'>): Promise<ActionResult> {
  const { spec, menu, dialogue, context } = call;
  const question = computeText(menu, dialogue, spec.assistant);
  const commit: typeof context.commit = (act) =>
    context.commit(async (trx) => {
      const { outcome, values } = await act(trx);
      return { outcome, values: { [spec.save]: values?.answer ?? '' } };
    });
  return ask({ ...context, answer: () => question, commit });
}

async function fileClaim(claims: BuiltInParts['claims'], call: BuiltInCall<'claim'>): Promise<ActionResult> {
  const { spec, menu, dialogue, context } = call;
  const { phoneNumber: phone, now, key, log } = context;
  if (!claims) {
    log.warn({ program: menu.id }, 'a program files a claim, and CLAIMS_COLLECTION is not set');
    return { outcome: 'unavailable' };
  }
  const { collection } = spec;
  const reference = toId(key);
  const fields = computeFields(menu, dialogue, spec.fields);
  const numbers = Object.entries(dialogue.values).flatMap(([name, value]) =>
    menu.types.get(name) === 'phone' ? [value] : [],
  );
  // The check of the program sees only names; what a computed value or a record holds is known here.
  if (holdsPhoneNumber(fields, [phone, ...numbers])) {
    log.error({ program: menu.id, claim: spec.claim }, 'a claim is refused because a field holds a phone number');
    return { outcome: 'refused' };
  }
  const content = { ...fields, filedAt: new Date(now).toISOString() };
  return context.commit(async (trx) => {
    if ((await claims.countSince(trx, phone, now - dayMs)) >= claimsPerDay) return { outcome: 'refused' };
    const source = `${nameOf(menu.id)}:${spec.claim}:${reference}`;
    await claims.add(trx, { source, phone, content, now, ...(collection !== undefined && { collection }) });
    return { outcome: 'filed', values: { [spec.save]: reference } };
  });
}

/** Enough digits to identify a number, also without its country code. */
const lastDigits = 9;

/** Also true of a text that viewers would see masked. */
export function holdsPhoneNumber(value: unknown, known: readonly string[]): boolean {
  if (typeof value === 'string' || typeof value === 'number') {
    if (typeof value === 'string' && maskNumbers(value) !== value) return true;
    const digits = toAsciiDigits(String(value)).replace(/\D/g, '');
    return known.some((number) => hasEndOf(number, digits));
  }
  if (typeof value !== 'object' || value === null) return false;
  return [...Object.keys(value), ...Object.values(value)].some((inner) => holdsPhoneNumber(inner, known));
}

/** Digits of every script follow each other from zero to nine. */
function toAsciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    let zero = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
    return String((code - zero) % 10);
  });
}

function hasEndOf(number: string, digits: string): boolean {
  const end = number.replace(/\D/g, '').slice(-lastDigits);
  return end !== '' && digits.includes(end);
}
