import { ussdLimits } from '@palaver/contract';
import {
  type Dialogue,
  fitsOneScreen,
  hasText,
  type Menu,
  type Question,
  renderAlone,
  type ScreenType,
  translate,
} from '@palaver/program/internal';
import type { CallRoom } from '../calls/call.ts';
import { callTexts } from '../catalog/bundled-program.ts';
import { isListed, maxListedCharacters } from './text-parts.ts';

/** Beyond the next answer; below it the screen says how much is left. */
const lowBelow = 30;
/** No answer is given more room than this. */
const mostNeeded = 61;
const enough: CallRoom = { kind: 'enough' };

/** A text that is too long is not a valid request, so the call ends before that and is continued at the next dial. */
export function measureCallRoom(menu: Menu, dialogue: Dialogue, text: string): CallRoom {
  const limit = isListed(text) ? maxListedCharacters : ussdLimits.textCharacters;
  if (limit - text.length > mostNeeded + lowBelow) return enough;
  const left = limit - Array.from(text).length - 1;
  const spare = left - answerRoom(menu, dialogue);
  if (spare >= lowBelow) return enough;
  if (spare < 0) return { kind: 'full', closing: toClosing(menu, dialogue) };
  if (dialogue.hint !== undefined || !hasText(menu, dialogue, callTexts.low)) return enough;
  const values = { ...dialogue.values, 'call.left': String(left) };
  const hintPage = dialogue.page > 0 && { hintPage: dialogue.page };
  return { kind: 'low', dialogue: { ...dialogue, ...hintPage, hint: callTexts.low, values } };
}

/** For menus without a text of their own, which may offer nothing to continue. */
const fullText = 'No more input fits into this call. Please dial again.';

function toClosing(menu: Menu, dialogue: Dialogue): string {
  const said = renderAlone(menu, dialogue);
  const full = hasText(menu, dialogue, callTexts.full)
    ? translate(menu.locales, dialogue.language, callTexts.full)
    : fullText;
  const both = said === '' ? full : `${said}\n${full}`;
  return [both, full].find(fitsOneScreen) ?? fullText;
}

/** `98`, or the number of a choice. */
const choiceRoom = 2;
const textRoom = 40;
const otherRoom = 20;
const formRooms: Partial<Record<ScreenType, number>> = {
  text: textRoom,
  integer: 9,
  decimal: 12,
  date: 8,
  time: 4,
  dateTime: 13,
  choices: 12,
  rank: 12,
};
const validatorRooms = new Map(
  Object.entries({ name: textRoom, question: 60, amount: 12, pin: 6, newPin: 6, samePin: 6 }),
);

function answerRoom(menu: Menu, dialogue: Dialogue): number {
  const state = menu.states.get(dialogue.state);
  if (state?.kind === 'form') return formRooms[dialogue.form?.screen.type ?? 'note'] ?? choiceRoom;
  if (state?.kind !== 'prompt') return choiceRoom;
  return state.question ? questionRoom(state.question) : (validatorRooms.get(state.validator ?? '') ?? otherRoom);
}

function questionRoom({ type, max, length, options = [] }: Question): number {
  if (type === 'text') return Math.min(length?.max ?? textRoom, textRoom);
  if (type === 'date') return 10;
  if (type === 'phone') return 16;
  if (type === 'choice') return choiceRoom;
  if (type === 'choices') return Math.max(choiceRoom, Math.min(otherRoom, options.length * 2));
  return (max === undefined ? 9 : String(max).length) + (type === 'decimal' ? 3 : 0);
}
