import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@palaver/service-kit';
import type { DatabaseClock } from '@palaver/store';
import { faultKind } from '@palaver/store/internal';
import type { Forms } from '../forms/forms.ts';
import { toShowable } from '../gsm.ts';
import type { Caller, Dialogue } from '../menu/dialogue.ts';
import { type Opening, openDialogue, type Step, takeInput, takeResult } from '../menu/engine.ts';
import { translate } from '../menu/locales.ts';
import type { Menu } from '../menu/menu.ts';
import type { Programs } from '../programs/programs.ts';
import type { TakenInput } from '../stats/input-outcome.ts';
import type { ProgramStats } from '../stats/program-stats.ts';
import { type ResultKey, SessionChanged } from './action-results.ts';
import { askForm } from './ask-form.ts';
import { isErased } from './erased-sessions.ts';
import { createKeyedQueue } from './keyed-queue.ts';
import type { Profiles } from './profiles.ts';
import type { RequestResult, SessionRequest } from './request.ts';
import type { RunAction } from './run-action.ts';
import { type Outcome, type Saving, toSaving } from './saving.ts';
import { isExpired, type Session, sessionStatus, unpackDialogue, unpackOpening, withProgram } from './session.ts';
import type { SessionCache } from './session-cache.ts';
import type { SessionStore } from './session-store.ts';
import type { TextHash } from './text-hash.ts';
import { type Part, toNewParts, toParts } from './text-parts.ts';

export type HandleRequest = (request: SessionRequest, log: Logger) => Promise<RequestResult>;

export interface RequestParts {
  sessions: SessionStore;
  cache: SessionCache;
  profiles: Profiles;
  runAction: RunAction;
  /** Whether an unfinished form is still as it was at `at`; the first answer for a key stays. */
  isResumable(call: ResultKey & { at: number }): Promise<boolean>;
  forms: Pick<Forms, 'press'>;
  textHash: TextHash;
  programs: Pick<Programs, 'forCode' | 'find'>;
  stats: Pick<ProgramStats, 'count'>;
  /** The reply to a code that no program answers. */
  unknownCode: string;
  clock: Pick<DatabaseClock, 'now'>;
  timeoutMs: number;
}

interface OwnRequest extends SessionRequest {
  now: number;
  log: Logger;
  /** An earlier attempt at it failed, or met another instance. */
  isRepeated: boolean;
}

/** A request that waits longer than this many others of its session is refused: no phone sends that fast. */
const maxWaitingRequests = 100;
const maxActionsPerInput = 10;
const maxAttempts = 4;
/** A lost connection that took longer than this leaves no time for another try: the telecom gateway gives up first. */
const maxFaultMs = 3_000;
const faultPauseMs = 100;

/** Handles one request of a telecom gateway: one at a time for each session, saved before the reply. */
export function createHandleRequest(parts: RequestParts): HandleRequest {
  const queue = createKeyedQueue({ maxWaiting: maxWaitingRequests });
  return (request, log) =>
    queue(request.sessionId, async () => {
      const { sessionId, serviceCode, phoneNumber, text } = request;
      const now = parts.clock.now();
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        // The first attempt trusts what is in memory; when another instance was faster, the row is read again.
        const isRepeated = attempt > 1;
        try {
          const result = await runRequest(parts, { sessionId, serviceCode, phoneNumber, text, now, log, isRepeated });
          if (result) return result;
        } catch (error) {
          if (!(error instanceof SessionChanged)) {
            // The connection may have broken after a commit. Results of actions and sessions are keyed, so a second run finds out.
            if (isRepeated || faultKind(error) !== 'unreachable' || parts.clock.now() - now > maxFaultMs) throw error;
            log.warn({ err: error }, 'the database connection broke; the request runs again');
            await sleep(faultPauseMs);
          }
        }
        parts.cache.delete(sessionId);
      }
      throw new Error('the session was changed by others again and again');
    });
}

/** `undefined` when the session was changed by another instance between reading and writing. */
async function runRequest(parts: RequestParts, request: OwnRequest): Promise<RequestResult | undefined> {
  const outcome = await takeRequest(parts, request);
  if (!('step' in outcome)) return outcome;
  const saving = toSaving(parts, request, outcome);
  if (!('write' in saving)) return saving;
  // What is alive here is alive for as long as the commit takes, for every request that waits for it: keep it small.
  if (!(await parts.sessions.save(saving.write))) return undefined;
  return finish(parts, request, outcome, saving);
}

/** What to save and to show, or the reply where there is nothing to save. */
async function takeRequest(parts: RequestParts, request: OwnRequest): Promise<Outcome | RequestResult> {
  const { sessionId, phoneNumber, text, now, isRepeated } = request;
  const cached = isRepeated ? undefined : findCached(parts, request);
  // A first dial is inserted without a read. If the row exists, the insert is refused and the row is read.
  const known = cached ?? (text === '' && !isRepeated ? undefined : await parts.sessions.load(sessionId));
  if (known && isErased(known))
    return text === '' ? await openSession(parts, request, undefined) : await refuseExpired(parts, known);
  if (known && known.phone !== phoneNumber) return { invalid: 'the session belongs to another phone number' };
  if (text === '') return await openSession(parts, request, known);
  if (known && isExpired(known, now, parts.timeoutMs)) return refuseExpired(parts, known);

  const { textHash } = parts;
  const kept = known && unpackOpening(known.opening);
  const found = findMenu(parts, known?.serviceCode ?? request.serviceCode, kept?.program);
  // A version that is in memory needs no wait, which every key press would pay for.
  const menu = found instanceof Promise ? await found : found;
  if (!menu) return { reply: parts.unknownCode, kind: 'refused' };
  const opening = kept ? withProgram(kept, menu.id) : await parts.profiles.loadOpening(phoneNumber, now, menu);
  const all = toParts(text);
  if (known && textHash.ofText(sessionId, text.slice(0, known.textLength)) === known.textHash) {
    const isCached = known === cached;
    if (known.textLength === text.length) {
      if (isCached) await checkUnchanged(parts, known);
      return { reply: known.reply, kind: 'retried' };
    }
    const inputs = known.status === sessionStatus.active ? toNewParts(text, known.textLength, all) : undefined;
    const from = inputs && unpackDialogue(known.dialogue);
    if (from) return await continueDialogue(parts, request, { menu, known, isCached, all, inputs, opening, from });
  }
  // Nothing to continue from: the inputs of the telecom gateway's text are replayed from the start.
  return await continueDialogue(parts, request, { menu, known, all, inputs: all, opening, from: undefined });
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
function findCached({ cache, timeoutMs }: RequestParts, { sessionId, now }: OwnRequest): Session | undefined {
  const session = cache.get(sessionId);
  return session && !isExpired(session, now, timeoutMs) ? session : undefined;
}

async function openSession(
  parts: RequestParts,
  request: OwnRequest,
  known: Session | undefined,
): Promise<Outcome | RequestResult> {
  const menu = parts.programs.forCode(request.serviceCode);
  if (!menu) return { reply: parts.unknownCode, kind: 'refused' };
  const opening = await parts.profiles.loadOpening(request.phoneNumber, request.now, menu);
  // The telecom gateway asks again: the same session has the same first screen.
  if (known && unpackOpening(known.opening).isNewcomer) opening.isNewcomer = true;
  const step = openDialogue(menu, opening, toCaller(request));
  return { menu, known, opening, step, kind: 'opened' };
}

interface Course {
  /** The one in use when the request came: a reload meanwhile changes nothing for it. */
  menu: Menu;
  known: Session | undefined;
  /** It comes from memory: another instance may have erased its caller. */
  isCached?: boolean;
  /** All inputs of the text, and those of them that are to be taken. */
  all: Part[];
  inputs: Part[];
  opening: Opening;
  /** Where the inputs start; the main menu when they are all there is. */
  from: Dialogue | undefined;
}

async function continueDialogue(
  parts: RequestParts,
  request: OwnRequest,
  { menu, known, isCached, all, inputs, opening, from }: Course,
): Promise<Outcome> {
  const { textHash } = parts;
  const values = all.map(({ value }) => value);
  const caller = toCaller(request);
  let step: Step = from ? { dialogue: { ...from, caller }, ended: false } : openDialogue(menu, opening, caller);
  const taken: TakenInput[] = [];
  let isResumeGone = false;
  for (const [index, input] of inputs.entries()) {
    const before = step.dialogue;
    // Inputs that are played again were key presses of their own.
    caller.budget = undefined;
    const part = all.length - inputs.length + index;
    // As they are taken: a blank before or after an input changes nothing.
    const typed = values.slice(0, part + 1);
    step = takeInput(menu, before, {
      value: input.value,
      part,
      parts: values,
      phoneNumber: request.phoneNumber,
    });
    if (before.resume && !step.dialogue.resume && opening.resumeAt !== undefined) {
      const key = textHash.ofAction(request.sessionId, typed, resumeStep);
      const { sessionId, phoneNumber: phone } = request;
      isResumeGone = !(await parts.isResumable({ key, sessionId, phone, at: opening.resumeAt }));
      if (isResumeGone) step = refuseResume(before);
    }
    for (let count = 0; step.pending || step.form; count++) {
      if (count === maxActionsPerInput) throw new Error(`the actions after ${step.dialogue.state} do not end`);
      if (!step.pending) {
        step = await askForm(parts.forms, menu, step);
        continue;
      }
      if (isCached && known) await checkUnchanged(parts, known);
      const result = await parts.runAction({
        sessionId: request.sessionId,
        key: textHash.ofAction(request.sessionId, typed, count),
        isFirst: from !== undefined && !request.isRepeated,
        pending: step.pending,
        menu,
        dialogue: step.dialogue,
        phoneNumber: request.phoneNumber,
        parts: values,
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

/** Before anything is done or shown by what is in memory alone: another instance may have erased the caller. */
async function checkUnchanged({ sessions }: RequestParts, { id, version }: Session): Promise<void> {
  if ((await sessions.load(id))?.version !== version) throw new SessionChanged();
}

/** Not the number of an action: those begin with 0. */
const resumeStep = -1;

/** Another call has continued the form since this one began: what it did is not done again. */
function refuseResume({ resume: _, ...dialogue }: Dialogue): Step {
  return { dialogue: { ...dialogue, hint: 'hint.choice' }, ended: false };
}

function toCaller({ phoneNumber, now }: OwnRequest): Caller {
  return { phoneNumber, now };
}

function finish(
  parts: RequestParts,
  request: OwnRequest,
  outcome: Outcome,
  { write: { session }, kind, isFull }: Saving,
): RequestResult {
  if (session.status === sessionStatus.active) parts.cache.set(session);
  else parts.cache.delete(session.id);
  countRequest(parts, request, outcome, isFull);
  return { reply: session.reply, kind };
}

/** A request that the telecom gateway repeats is not a new call, and inputs that are played again were counted before. */
function countRequest({ stats }: RequestParts, { now }: OwnRequest, outcome: Outcome, isCutOff: boolean): void {
  const { menu, known, opening, step, before, taken = [] } = outcome;
  const first = taken[0]?.before ?? step.dialogue;
  stats.count({
    menu,
    now,
    opened: known ? undefined : { state: first.state, language: first.language, isReturning: !opening.isNewcomer },
    inputs: known && !before ? taken.slice(-1) : taken,
    waitedMs: known && before ? now - known.seenAt : undefined,
    isCutOff,
  });
}

async function refuseExpired(parts: RequestParts, session: Session): Promise<RequestResult> {
  parts.cache.delete(session.id);
  const opening = unpackOpening(session.opening);
  const menu = await findMenu(parts, session.serviceCode, opening.program);
  if (!menu) return { reply: parts.unknownCode, kind: 'refused' };
  const { language } = unpackDialogue(session.dialogue) ?? opening;
  return { reply: `END ${toShowable(translate(menu.locales, language, 'main.expired'))}`, kind: 'expired' };
}
