import {
  type Dialogue,
  type Menu,
  nameOf,
  type Opening,
  renderScreen,
  reservedKeys,
  type Step,
  toFormSnapshot,
  toShowable,
  toSnapshot,
} from '@palaver/program/internal';
import { type SessionWrite, sessionStatus } from '../store/session-row.ts';
import type { SessionTable } from '../store/tables.ts';
import type { Call, RequestKind } from './call.ts';
import type { TakenInput } from './program-stats.ts';
import { packDialogue, packOpening, unpackDialogue } from './session.ts';

export interface Outcome {
  /** The one in use when the request came: a reload meanwhile changes nothing for it. */
  menu: Menu;
  known: SessionTable | undefined;
  opening: Opening;
  step: Step;
  kind: RequestKind;
  before?: Dialogue | undefined;
  taken?: readonly TakenInput[];
  isResumeGone?: boolean;
}

/** A call without room for another answer ends here, and nowhere else: it is full. */
export function toReply(call: Call, menu: Menu, { dialogue, ended }: Step) {
  const room = ended ? undefined : call.measureRoom(menu, dialogue);
  if (room?.kind === 'full') return { text: `END ${toShowable(room.closing)}`, dialogue, ended: true, isFull: true };
  const shown = room?.kind === 'low' ? room.dialogue : dialogue;
  const screen = renderScreen(menu, shown);
  return { text: `${screen.ended ? 'END' : 'CON'} ${screen.text}`, dialogue: shown, ended, isFull: false };
}

type Reply = ReturnType<typeof toReply>;

/** Returns `undefined` for a key press that comes too late to be written. */
export function toSaving(call: Call, outcome: Outcome, reply: Reply, now: number): SessionWrite | undefined {
  const { known, opening } = outcome;
  const isDial = call.inputs.length === 0;
  const { ended, isFull } = reply;
  // A text that is shorter than the one consumed may be a key press that comes late, after others have finished the form.
  const isLate = known !== undefined && !isDial && call.typedLength < known.text_length;
  if (isLate && known.status === sessionStatus.ended) return undefined;
  const session: SessionTable = {
    id: call.sessionId,
    phone: call.phoneNumber,
    service_code: call.serviceCode,
    version: (known?.version ?? 0) + 1,
    status: ended ? sessionStatus.ended : call.openStatus,
    text_hash: call.hashTyped(),
    text_length: call.typedLength,
    opening: packOpening(opening),
    dialogue: packDialogue(reply.dialogue),
    reply: reply.text,
    opened_at: isDial || !known ? now : known.opened_at,
    seen_at: now,
  };
  const isStep = known?.status === sessionStatus.active && !ended && !isDial;
  const write: SessionWrite = { session, isStep };
  const resume = isLate ? undefined : toResume(outcome, { now, isFull });
  if (resume) write.resume = resume;
  if (opening.isNewcomer) write.isNewcomer = true;
  // Not before a key is pressed: the reply with the notice may be lost, and a program without its text does not show it.
  if (opening.notice && outcome.before?.hint === opening.notice.text) write.noticeShown = opening.notice.text;
  return write;
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
