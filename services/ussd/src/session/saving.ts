import { toShowable } from '../gsm.ts';
import { type Dialogue, toFormSnapshot, toSnapshot } from '../menu/dialogue.ts';
import type { Opening, Step } from '../menu/engine.ts';
import { type Menu, nameOf, reservedKeys } from '../menu/menu.ts';
import { renderScreen } from '../menu/render.ts';
import type { TakenInput } from '../stats/input-outcome.ts';
import { measureCallRoom } from './call-room.ts';
import type { RequestKind, RequestResult, SessionRequest } from './request.ts';
import { packDialogue, packOpening, type Session, sessionStatus, unpackDialogue } from './session.ts';
import type { SessionWrite } from './session-writes.ts';
import type { TextHash } from './text-hash.ts';

/** Where a request has led. */
export interface Outcome {
  menu: Menu;
  known: Session | undefined;
  opening: Opening;
  step: Step;
  kind: RequestKind;
  before?: Dialogue | undefined;
  taken?: readonly TakenInput[];
  isResumeGone?: boolean;
}

/** What is written of an outcome. */
export interface Saving {
  write: SessionWrite;
  kind: RequestKind;
  /** The call ends because no more input fits into it. */
  isFull: boolean;
}

interface SavingParts {
  textHash: TextHash;
}

/** What to write before the reply is sent, or the reply to a key press that comes too late to be written. */
export function toSaving(
  parts: SavingParts,
  request: SessionRequest & { now: number },
  outcome: Outcome,
): Saving | RequestResult {
  const { menu, known, opening, step } = outcome;
  const room = step.ended ? undefined : measureCallRoom(menu, step.dialogue, request.text);
  const isFull = room?.kind === 'full';
  const dialogue = room?.kind === 'low' ? room.dialogue : step.dialogue;
  const reply = isFull ? `END ${toShowable(room.closing)}` : toReply(menu, dialogue);
  const ended = step.ended || isFull;
  const kind = isFull ? 'ended' : outcome.kind;
  const session: Session = {
    id: request.sessionId,
    phone: request.phoneNumber,
    serviceCode: request.serviceCode,
    version: (known?.version ?? 0) + 1,
    status: ended ? sessionStatus.ended : sessionStatus.active,
    textHash: parts.textHash.ofText(request.sessionId, request.text),
    textLength: request.text.length,
    opening: packOpening(opening),
    dialogue: packDialogue(dialogue),
    reply,
    openedAt: request.text === '' || !known ? request.now : known.openedAt,
    seenAt: request.now,
  };
  // A text that is shorter than the one consumed may be a key press that comes late, after others have finished the form.
  const isLate = known !== undefined && request.text !== '' && request.text.length < known.textLength;
  if (isLate && known.status === sessionStatus.ended) return { reply, kind: 'retried' };
  const isStep = known?.status === sessionStatus.active && !ended && request.text !== '';
  const write: SessionWrite = { session, isStep };
  const resume = isLate ? undefined : toResume(outcome, { now: request.now, isFull });
  if (resume) write.resume = resume;
  // Not before a key is pressed: the reply with the notice may be lost, and a program without its text does not show it.
  if (opening.notice && outcome.before?.hint === opening.notice.text) write.noticeShown = true;
  return { write, kind, isFull };
}

function toReply(menu: Menu, dialogue: Dialogue): string {
  const screen = renderScreen(menu, dialogue);
  return `${screen.ended ? 'END' : 'CON'} ${screen.text}`;
}

/** Keeps an unfinished form until it is finished or left, also after Exit. */
function toResume(
  { menu, step, before, known, opening, kind, taken = [], isResumeGone }: Outcome,
  { now, isFull }: { now: number; isFull: boolean },
): SessionWrite['resume'] {
  // The phone is known from now on.
  if (kind === 'opened') return opening.isNewcomer ? { form: null, at: now } : undefined;
  const last = taken.at(-1);
  // A program may lead to its exit itself, with the form finished.
  const isExit = step.dialogue.state === menu.exit && last?.value === reservedKeys.exit;
  const at = isExit ? last.before : step.dialogue;
  // A full call is continued at its last state.
  const isElsewhere = isFull && at.state !== menu.start;
  const form = isElsewhere ? toSnapshot(menu, at) : toFormSnapshot(menu, at);
  // The key press before has written it.
  if (form && isExit && before && taken.length === 1) return undefined;
  if (form) return { form: JSON.stringify({ ...form, program: nameOf(menu.id) }), at: now };
  const earlier = before ?? (known && unpackDialogue(known.dialogue));
  const isFirst = opening.isNewcomer && !known;
  const isTakenUp = !isResumeGone && earlier?.resume !== undefined && step.dialogue.resume === undefined;
  const wasInForm = isTakenUp || (earlier !== undefined && toFormSnapshot(menu, earlier) !== undefined);
  return isFirst || wasInForm ? { form: null, at: now } : undefined;
}
