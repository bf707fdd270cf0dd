import { ussdLimits } from '@palaver/contract';
import { answerRoom } from '../menu/answer-room.ts';
import type { Dialogue } from '../menu/dialogue.ts';
import { hasText, translate } from '../menu/locales.ts';
import type { Menu } from '../menu/menu.ts';
import { renderAlone } from '../menu/render.ts';
import { fitsOneScreen } from '../screen.ts';
import { isListed, maxListedCharacters } from './text-parts.ts';

/** What the accumulated text leaves room for: the next answer and more, little more, or not even that. */
export type CallRoom = { kind: 'enough' } | { kind: 'low'; dialogue: Dialogue } | { kind: 'full'; closing: string };

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
  return {
    kind: 'low',
    dialogue: {
      ...dialogue,
      hint: callTexts.low,
      ...(dialogue.page > 0 && { hintPage: dialogue.page }),
      values: { ...dialogue.values, 'call.left': String(left) },
    },
  };
}

const callTexts = { low: 'main.callLow', full: 'main.callFull' } as const;

/** For menus without a text of their own, which may offer nothing to continue. */
const fullText = 'No more input fits into this call. Please dial again.';

/** What the screen says without its choices, where it fits, then that the call is over. */
function toClosing(menu: Menu, dialogue: Dialogue): string {
  const said = renderAlone(menu, dialogue);
  const full = hasText(menu, dialogue, callTexts.full)
    ? translate(menu.locales, dialogue.language, callTexts.full)
    : fullText;
  const both = said === '' ? full : `${said}\n${full}`;
  return [both, full].find(fitsOneScreen) ?? fullText;
}
