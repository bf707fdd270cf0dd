import type { ScreenType } from '../forms/protocol.ts';
import type { Dialogue } from './dialogue.ts';
import type { Menu, PromptState } from './menu.ts';
import type { Question } from './question.ts';

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
const validatorRooms: Record<string, number> = {
  name: textRoom,
  question: 60,
  amount: 12,
  pin: 6,
  newPin: 6,
  samePin: 6,
};

/** How many characters an ordinary answer to the screen has at most. */
export function answerRoom(menu: Menu, dialogue: Dialogue): number {
  const state = menu.states.get(dialogue.state);
  if (state?.kind === 'form') return formRooms[dialogue.form?.screen.type ?? 'note'] ?? choiceRoom;
  if (state?.kind !== 'prompt') return choiceRoom;
  return promptRoom(state);
}

function promptRoom({ question, validator = '' }: PromptState): number {
  if (question) return questionRoom(question);
  return Object.hasOwn(validatorRooms, validator) ? (validatorRooms[validator] ?? otherRoom) : otherRoom;
}

function questionRoom({ type, max, length, options = [] }: Question): number {
  if (type === 'text') return Math.min(length?.max ?? textRoom, textRoom);
  if (type === 'date') return 10;
  if (type === 'phone') return 16;
  if (type === 'choice') return choiceRoom;
  if (type === 'choices') return Math.max(choiceRoom, Math.min(otherRoom, options.length * 2));
  return (max === undefined ? 9 : String(max).length) + (type === 'decimal' ? 3 : 0);
}
