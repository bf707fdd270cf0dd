import type { Dialogue, FormSnapshot, Place } from '../model/dialogue.ts';
import type { Menu } from '../model/menu.ts';
import { isQuestion } from '../states/states.ts';

/** To continue at the last unanswered question, or at the first secret one, since secrets are not kept. */
export function toFormSnapshot(menu: Menu, dialogue: Dialogue): FormSnapshot | undefined {
  const asks = (name: string) => isQuestion(menu.states.get(name));
  if (!dialogue.afterLogin && !asks(dialogue.state) && !dialogue.stack.some(asks)) return undefined;
  const place = toSnapshot(menu, dialogue);
  if (!place || !asks(place.state)) return undefined;
  const answered = place.stack.some(asks) || place.form?.progress.begun;
  return answered ? place : undefined;
}

/** Any screen with all earlier answers, ready to continue; where secrets were asked, the first question for one. */
export function toSnapshot(menu: Menu, dialogue: Dialogue): FormSnapshot | undefined {
  const { afterLogin, account, values } = { ...dialogue, ...dialogue.afterLogin };
  const screens = afterLogin ? toLastQuestion(menu, afterLogin) : [...dialogue.stack, dialogue.state];
  const isSecret = (name: string) => {
    const state = menu.states.get(name);
    return state?.kind === 'prompt' && state.secret;
  };
  const firstSecret = screens.findIndex(isSecret);
  const upTo = firstSecret < 0 ? screens.length - 1 : firstSecret;
  const state = screens[upTo];
  const stack = screens.slice(0, upTo);
  if (state === undefined) return undefined;
  const form = dialogue.form?.state === state ? dialogue.form : undefined;
  const frames = dialogue.frames?.filter(({ depth }) => depth <= stack.length);
  return {
    state,
    stack,
    values,
    ...(frames && { frames }),
    ...(form && { form }),
    ...((afterLogin || account !== undefined) && { authenticated: true }),
  };
}

/** A login may precede an action, which is not a screen to return to. */
function toLastQuestion(menu: Menu, { stack, state }: Place): string[] {
  const screens = [...stack, state];
  return screens.slice(0, screens.findLastIndex((name) => isQuestion(menu.states.get(name))) + 1);
}
