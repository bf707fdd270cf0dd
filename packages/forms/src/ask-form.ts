import { type Menu, type Step, takeFormReply } from '@palaver/program/internal';
import type { Forms } from './forms.ts';

/** A form computes from its answers alone: nothing of it needs to be recorded until it is complete. */
export async function askForm(forms: Pick<Forms, 'press'>, menu: Menu, { dialogue, form }: Step): Promise<Step> {
  const state = menu.states.get(dialogue.state);
  const source = state?.kind === 'form' ? menu.forms.get(state.form) : undefined;
  if (state?.kind !== 'form' || !source) throw new Error(`state ${dialogue.state} has no form`);
  const { language, caller } = dialogue;
  const progress = dialogue.form?.progress;
  const reply = await forms.press(source, {
    language,
    phoneNumber: caller?.phoneNumber ?? '',
    take: state.take,
    waive: state.waive,
    ...(progress && { progress }),
    ...form,
  });
  return takeFormReply(menu, dialogue, reply);
}
