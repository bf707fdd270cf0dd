import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { askForm, type Forms } from '@palaver/forms/internal';
import {
  type Dialogue,
  type Menu,
  openDialogue,
  type Step,
  takeInput,
  takeResult,
  toShowable,
  translate,
} from '@palaver/program/internal';
import type { Logger } from '@palaver/service-kit';
import { faultKind } from '@palaver/store/internal';
import type { Programs } from '../catalog/programs.ts';
import type { Profiles } from '../people/profiles.ts';
import { isErased, isExpired, isOpen, sessionStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/session-store.ts';
import type { Clock, SessionTable } from '../store/tables.ts';
import { type ResultKey, SessionChanged } from './action-results.ts';
import type { Call, RequestResult } from './call.ts';
import type { ProgramStats, TakenInput } from './program-stats.ts';
import type { RunAction } from './run-action.ts';
import { type Outcome, toReply, toSaving } from './saving.ts';
import { type SessionCache, unpackDialogue, unpackOpening } from './session.ts';
import type { OnExpired } from './sweeper.ts';

export type HandleRequest = (call: Call, log: Logger) => Promise<RequestResult>;

interface RequestParts {
  sessions: SessionStore;
  cache: SessionCache;
  profiles: Profiles;
  runAction: RunAction;
  /** Whether an unfinished form is still as it was at `at`; the first answer for a key stays. */
  isResumable(call: ResultKey & { at: number }): Promise<boolean>;
  forms: Pick<Forms, 'press'>;
  programs: Pick<Programs, 'forCode' | 'find'>;
  stats: Pick<ProgramStats, 'count'>;
  onExpired: OnExpired;
  unknownCode: string;
  clock: Clock;
  timeoutMs: number;
}

interface OwnRequest {
  call: Call;
  now: number;
  log: Logger;
  /** An earlier attempt at it failed, or met another instance. */
  isRepeated: boolean;
}

/** How many requests of one session may wait. Any more are refused, because no phone sends that fast. */
const maxWaitingRequests = 100;
const maxActionsPerInput = 10;
const maxAttempts = 4;
/** A lost connection that took longer than this leaves no time for another try: the telecom gateway gives up first. */
const maxFaultMs = 3_000;
const faultPauseMs = 100;

/** Handles the requests of telecom gateways: one at a time for each session, saved before the reply. */
export function createCalls(parts: RequestParts) {
  const queue = createKeyedQueue({ maxWaiting: maxWaitingRequests });
  /** The caller is gone: as after a timeout the session is not open, and what was begun is offered at the next dial. */
  const hangUp = (sessionId: string) =>
    queue(sessionId, async () => {
      parts.cache.delete(sessionId);
      parts.onExpired(await parts.sessions.expire(sessionId));
    });
  const handleRequest: HandleRequest = (call, log) =>
    queue(call.sessionId, async () => {
      const now = parts.clock.now();
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        // The first attempt trusts what is in memory; when another instance was faster, the row is read again.
        const isRepeated = attempt > 1;
        try {
          const result = await runRequest(parts, { call, now, log, isRepeated });
          if (result) return result;
        } catch (error) {
          if (!(error instanceof SessionChanged)) {
            // The connection may have broken after a commit. Results of actions and sessions are keyed, so a second run finds out.
            if (isRepeated || faultKind(error) !== 'unreachable' || parts.clock.now() - now > maxFaultMs) throw error;
            log.warn({ err: error }, 'the database connection broke; the request runs again');
            await sleep(faultPauseMs);
          }
        }
        parts.cache.delete(call.sessionId);
      }
      throw new Error('the session was changed by others again and again');
    });
  return { handleRequest, hangUp };
}

async function runRequest(parts: RequestParts, request: OwnRequest): Promise<RequestResult | undefined> {
  const outcome = await takeRequest(parts, request);
  if (!('step' in outcome)) return outcome;
  const reply = toReply(request.call, outcome.menu, outcome.step);
  const write = toSaving(request.call, outcome, reply, request.now);
  if (!write) return { reply: reply.text, kind: 'retried' };
  const { isFull } = reply;
  // Keep few values alive across the commit: every request that waits for one holds them in memory.
  if (!(await parts.sessions.save(write))) return undefined;
  keepInMemory(parts.cache, write.session);
  countRequest(parts, request, outcome, isFull);
  return { reply: write.session.reply, kind: isFull ? 'ended' : outcome.kind };
}

async function takeRequest(parts: RequestParts, request: OwnRequest): Promise<Outcome | RequestResult> {
  const { call, now, isRepeated } = request;
  const { sessionId, phoneNumber } = call;
  const isDial = call.inputs.length === 0;
  const cached = isRepeated ? undefined : findCached(parts, request);
  // A first dial is inserted without a read. If the row exists, the insert is refused and the row is read.
  const known = cached ?? (isDial && !isRepeated ? undefined : await parts.sessions.load(sessionId));
  if (known && isErased(known))
    return isDial ? await openSession(parts, request, undefined) : await refuseExpired(parts, known);
  if (known && known.phone !== phoneNumber) return { invalid: 'the session belongs to another phone number' };
  if (isDial) return await openSession(parts, request, known);
  if (known && isExpired(known, now, parts.timeoutMs)) return refuseExpired(parts, known);

  const kept = known && unpackOpening(known.opening);
  const found = findMenu(parts, known?.service_code ?? call.serviceCode, kept?.program);
  // A version that is in memory needs no wait, which every key press would pay for.
  const menu = found instanceof Promise ? await found : found;
  if (!menu) return { reply: parts.unknownCode, kind: 'refused' };
  const opening = kept ? { ...kept, program: menu.id } : await parts.profiles.loadOpening(call, now, menu);
  const first = known && call.findFirstNew(known);
  if (known && first !== undefined) {
    if (first === call.inputs.length) {
      // Another instance may have erased the caller: only the row is shown again.
      if (known === cached) throw new SessionChanged();
      return { reply: known.reply, kind: 'retried' };
    }
    const from = isOpen(known) ? unpackDialogue(known.dialogue) : undefined;
    if (from) return await continueDialogue(parts, request, { menu, known, first, opening, from });
  }
  // A dialogue by SMS may be older than the results of its actions, which would run again.
  if (known?.status === sessionStatus.texting) {
    const isLate = call.typedLength < known.text_length;
    return isLate ? { invalid: 'a later text was taken before' } : refuseExpired(parts, known);
  }
  // Nothing to continue from: all inputs are replayed from the start.
  return await continueDialogue(parts, request, { menu, known, first: 0, opening, from: undefined });
}

/** The version of the program that the session began with; where it is gone, the one its code chooses now. */
function findMenu(
  { programs }: RequestParts,
  serviceCode: string,
  id: string | undefined,
): Menu | undefined | Promise<Menu | undefined> {
  const kept = id === undefined ? undefined : programs.find(id);
  if (kept instanceof Promise) return kept.then((menu) => menu ?? programs.forCode(serviceCode));
  return kept ?? programs.forCode(serviceCode);
}

/** A session that looks expired here may have continued at another instance, so the row is read. */
function findCached({ cache, timeoutMs }: RequestParts, { call, now }: OwnRequest): SessionTable | undefined {
  const session = cache.get(call.sessionId);
  return session && !isExpired(session, now, timeoutMs) ? session : undefined;
}

async function openSession(
  parts: RequestParts,
  request: OwnRequest,
  known: SessionTable | undefined,
): Promise<Outcome | RequestResult> {
  const menu = parts.programs.forCode(request.call.serviceCode);
  if (!menu) return { reply: parts.unknownCode, kind: 'refused' };
  const opening = await parts.profiles.loadOpening(request.call, request.now, menu);
  const step = openDialogue(menu, opening, toCaller(request));
  return { menu, known, opening, step, kind: 'opened' };
}

interface Course extends Pick<Outcome, 'menu' | 'known' | 'opening'> {
  first: number;
  from: Dialogue | undefined;
}

async function continueDialogue(
  parts: RequestParts,
  request: OwnRequest,
  { menu, known, first, opening, from }: Course,
): Promise<Outcome> {
  const { call } = request;
  const { inputs, sessionId, phoneNumber } = call;
  const caller = toCaller(request);
  let step: Step = from ? { dialogue: { ...from, caller }, ended: false } : openDialogue(menu, opening, caller);
  const taken: TakenInput[] = [];
  let isResumeGone = false;
  for (let part = first; part < inputs.length; part++) {
    const input = call.toInput(part);
    const before = step.dialogue;
    // Inputs that are played again were key presses of their own. Those that are dialled in one text are one.
    if (known && !from) {
      caller.budget = undefined;
      await setImmediate();
    }
    step = takeInput(menu, before, input);
    if (before.resume && !step.dialogue.resume && opening.resumeAt !== undefined) {
      const key = call.toActionKey(part + 1, resumeStep);
      isResumeGone = !(await parts.isResumable({ key, sessionId, phone: phoneNumber, at: opening.resumeAt }));
      if (isResumeGone) step = refuseResume(before);
    }
    for (let count = 0; step.pending || step.form; count++) {
      if (count === maxActionsPerInput) throw new Error(`the actions after ${step.dialogue.state} do not end`);
      if (!step.pending) {
        step = await askForm(parts.forms, menu, step);
        continue;
      }
      const result = await parts.runAction({
        sessionId,
        key: call.toActionKey(part + 1, count),
        isFirst: from !== undefined && !request.isRepeated,
        pending: step.pending,
        menu,
        dialogue: step.dialogue,
        phoneNumber,
        reveal: input.reveal,
        now: request.now,
        log: request.log,
      });
      step = takeResult(menu, step.dialogue, result);
    }
    taken.push({ before, value: input.value, after: step.dialogue });
    if (step.ended) break;
  }
  const kind = step.ended ? 'ended' : from ? 'continued' : 'rebuilt';
  return { menu, known, opening, step, kind, before: from, taken, isResumeGone };
}

/** Not the number of an action: those begin with 0. */
const resumeStep = -1;

/** Another call has continued the form since this one began: what it did is not done again. */
function refuseResume({ resume: _, ...dialogue }: Dialogue): Step {
  return { dialogue: { ...dialogue, hint: 'hint.choice' }, ended: false };
}

function toCaller({ call: { phoneNumber, surface }, now }: OwnRequest): NonNullable<Dialogue['caller']> {
  return { phoneNumber, now, surface };
}

/** Calls only: the cache forgets sessions by the timeout that they share. */
function keepInMemory(cache: SessionCache, session: SessionTable): void {
  if (session.status === sessionStatus.active) cache.set(session);
  else cache.delete(session.id);
}

/** A request that the telecom gateway repeats is not a new call, and inputs that are played again were counted before. */
function countRequest({ stats }: RequestParts, { call, now }: OwnRequest, outcome: Outcome, isCutOff: boolean): void {
  const { menu, known, opening, step, before, taken = [] } = outcome;
  const first = taken[0]?.before ?? step.dialogue;
  stats.count({
    menu,
    now,
    opened: known
      ? undefined
      : {
          state: first.state,
          language: first.language,
          isReturning: !opening.isNewcomer,
          isTexting: call.openStatus === sessionStatus.texting,
        },
    inputs: known && !before ? taken.slice(-1) : taken,
    waitedMs: known && before ? now - known.seen_at : undefined,
    isCutOff,
  });
}

async function refuseExpired(parts: RequestParts, session: SessionTable): Promise<RequestResult> {
  parts.cache.delete(session.id);
  const opening = unpackOpening(session.opening);
  const menu = await findMenu(parts, session.service_code, opening.program);
  if (!menu) return { reply: parts.unknownCode, kind: 'refused' };
  const { language } = unpackDialogue(session.dialogue) ?? opening;
  return { reply: `END ${toShowable(translate(menu.locales, language, 'main.expired'))}`, kind: 'expired' };
}

interface Tail {
  last?: Promise<unknown>;
  waiting: number;
}

/** Runs tasks of one key one after the other; keys do not wait for each other. Nothing is kept once a key is idle. */
export function createKeyedQueue(options: { maxWaiting: number }) {
  const tails = new Map<string, Tail>();
  return async <T>(key: string, task: () => Promise<T>): Promise<T> => {
    const tail: Tail = tails.get(key) ?? { waiting: 0 };
    if (tail.waiting >= options.maxWaiting) throw new Error('too many requests of one session are waiting');
    const run = tail.last ? tail.last.then(task, task) : task();
    tail.last = run;
    tail.waiting += 1;
    tails.set(key, tail);
    try {
      return await run;
    } finally {
      tail.waiting -= 1;
      if (tail.waiting === 0) tails.delete(key);
    }
  };
}
