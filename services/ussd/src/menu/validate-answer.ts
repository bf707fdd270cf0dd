import type { Dialogue } from './dialogue.ts';
import { holds, todayOf } from './evaluate.ts';
import { hasText } from './locales.ts';
import type { Menu, PromptState, State } from './menu.ts';
import { parseAnswer, type Question, typeHints, type Validation } from './question.ts';
import { toExpressionValue } from './value-types.ts';

export interface Input {
  value: string;
  /** Its index among the parts of the accumulated text. */
  part: number;
  /** All parts so far, for answers that are kept by their place only. */
  parts: readonly string[];
  phoneNumber: string;
}

/** Whether an input answers the question of a state, by its type and check or by its validator. */
export function validateAnswer(
  menu: Menu,
  dialogue: Dialogue,
  { validator, question }: PromptState,
  input: Input,
): Validation {
  if (question) {
    const { value, phoneNumber } = input;
    const parsed = parseAnswer(toShownQuestion(menu, dialogue, question), value, {
      phoneNumber,
      today: todayOf(dialogue),
    });
    if (!parsed.ok)
      return hasText(menu, dialogue, parsed.hint) ? parsed : { ok: false, hint: typeHints[question.type] };
    if (!question.check) return parsed;
    const answer = toExpressionValue(parsed.value, question.type);
    return holds(menu, dialogue, question.check.that, { answer }) ? parsed : { ok: false, hint: question.check.hint };
  }
  const validation = menu.registry.validators[validator ?? '']?.check(input.value, {
    answer: (name) => {
      const part = dialogue.secrets[name];
      return part === undefined ? dialogue.values[name] : input.parts[part];
    },
    phoneNumber: input.phoneNumber,
  });
  if (!validation) throw new Error(`no validator named ${validator}`);
  return validation;
}

/** What an answer means that is kept by its place only: the value of a choice, not its key, as of an answer that is kept. */
export function findAnswer(
  menu: Menu,
  dialogue: Dialogue,
  name: string,
  { parts, phoneNumber }: Pick<Input, 'parts' | 'phoneNumber'>,
): string | undefined {
  const part = dialogue.secrets[name];
  const input = part === undefined ? undefined : parts[part];
  if (input === undefined) return dialogue.values[name];
  const asked = dialogue.stack.findLast((id) => isAskedBy(menu.states.get(id), name));
  const state =
    asked === undefined ? [...menu.states.values()].find((each) => isAskedBy(each, name)) : menu.states.get(asked);
  if (state?.kind !== 'prompt' || !state.question) return input;
  const context = { phoneNumber, today: todayOf(dialogue) };
  const parsed = parseAnswer(toShownQuestion(menu, dialogue, state.question), input, context);
  return parsed.ok ? parsed.value : undefined;
}

const isAskedBy = (state: State | undefined, name: string) =>
  state?.kind === 'prompt' && state.secret && state.save === name;

/** Without the choices whose condition does not hold. */
export function toShownQuestion(menu: Menu, dialogue: Dialogue, question: Question): Question {
  const { options } = question;
  if (!options?.some(({ when }) => when !== undefined)) return question;
  return { ...question, options: options.filter(({ when }) => when === undefined || holds(menu, dialogue, when)) };
}
