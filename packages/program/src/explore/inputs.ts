import { type Dialogue, toInput } from '../model/dialogue.ts';
import { todayOf } from '../model/evaluate.ts';
import { choosableOptions } from '../show/render.ts';
import { isSearchable } from '../states/from.ts';
import { type PromptState, validateAnswer } from '../states/prompt.ts';
import { reservedKeys } from '../values/keys.ts';
import type { Question } from '../values/question.ts';
import { around } from './constants.ts';
import { type Place, phoneNumber, type Walk } from './walk.ts';

export interface Inputs {
  /** What leads on. */
  taken: string[];
  /** What the screen refuses, to see its hints. */
  refused: string[];
  /** How many answers were tried without success. */
  tried: number;
}

const mostAnswers = 5;
const mostRows = 4;
const unknownKey = '77';

/** What to press on the screen that a dialogue shows. */
export function inputsFor(walk: Walk, place: Place): Inputs {
  const { menu } = walk;
  const { dialogue } = place;
  const state = menu.states.get(dialogue.state);
  if (state?.kind === 'prompt') return answersFor(walk, place, state);
  const keys = choosableOptions(menu, dialogue).map(({ key }) => key);
  if (state?.kind !== 'menu' || !state.from) return { taken: keys, refused: ['', unknownKey], tried: 0 };
  const [first, last] = [keys.slice(0, mostRows - 1), keys.slice(-1)];
  const found = isSearchable(menu, state.from, dialogue)
    ? [choosableOptions(menu, dialogue)[0]?.label?.slice(0, 3) ?? '']
    : [];
  return { taken: [...new Set([...first, ...last, ...found])], refused: ['', '0x'], tried: 0 };
}

function answersFor(walk: Walk, { dialogue, typed }: Place, state: PromptState): Inputs {
  const { menu, samples, constants } = walk;
  const candidates = state.question ? typedAnswers(walk, dialogue, state.question) : plainAnswers(typed);
  const taken = new Map<string, string>();
  const refused = new Map<string, string>([['hint.empty', '']]);
  const all = [...new Set([...candidates, ...samples, ...around(constants.numbers)])];
  for (const value of all) {
    if (value === '' || value.includes(reservedKeys.exit)) continue;
    const result = validateAnswer(menu, dialogue, state, toInput([...typed, value], typed.length));
    if (!result.ok) refused.set(result.hint, value);
    else if (taken.size < mostAnswers && ![...taken.values()].includes(result.value)) taken.set(value, result.value);
  }
  const skip = state.optional ? [reservedKeys.skip] : [];
  return {
    taken: [...taken.keys(), ...skip],
    refused: state.optional ? [...refused.values()].slice(1) : [...refused.values()],
    tried: all.length,
  };
}

/** For validators by name: what was typed last is the answer to "again, please". */
function plainAnswers(typed: readonly string[]): string[] {
  const answers = ['Ana Wanjiru', '407192', '583920', '12', '2.5', 'What is the price of maize?', 'x'.repeat(40)];
  return [typed.at(-1) ?? '', ...answers];
}

function typedAnswers({ constants, textsMatching }: Walk, dialogue: Dialogue, question: Question): string[] {
  const { min, max, options = [], length } = question;
  const numbers = around(constants.numbers);
  const today = todayOf(dialogue);
  switch (question.type) {
    case 'integer':
    case 'decimal':
      return [min, max, ...numbers, 1, 0, 12, 100].filter((limit) => limit !== undefined).map(String);
    case 'date':
      return [min, max, today, '1990-01-01', '2030-12-31'].map((date) =>
        date === 'today' ? today : String(date ?? ''),
      );
    case 'phone':
      return ['0712345678', phoneNumber, '+254700000002'];
    case 'choice':
      return options.map((_, i) => String(i + 1));
    case 'choices':
      return [options.map((_, i) => i + 1).join(' '), ...options.map((_, i) => String(i + 1)), '1 2'];
    default: {
      const longest = length?.max ?? 160;
      const matching = question.pattern === undefined ? [] : textsMatching(question.pattern);
      const lengths = [toText(longest), toText(length?.min ?? 1)];
      return [...matching, 'Ana', ...constants.texts, ...lengths, 'A1', 'AB-123', '12345'];
    }
  }
}

/** A text of words of common lengths. */
function toText(length: number): string {
  return 'maize and beans '
    .repeat(Math.ceil(length / 16))
    .slice(0, length)
    .replace(/ $/, 's');
}
